// E2B's SDK for JavaScript against a gateway, to which its environment points.
// Prints one JSON object, or fails.
import assert from "node:assert/strict";
import { Sandbox } from "@e2b/code-interpreter";

const found = {};
const sandbox = await Sandbox.create({
  timeoutMs: 3600_000,
  metadata: { of: "JavaScript" },
  envs: { OF_ALL: "1" },
});

const lines = [];
const code = "import os; print('a'); kept = 41; os.environ['OF_ALL']";
const run = await sandbox.runCode(code, {
  onStdout: (message) => lines.push(message.line),
});
found.code = { text: run.text, lines, count: run.executionCount };
const failed = await sandbox.runCode("1 / 0");
found.error = failed.error.name;
const again = await Sandbox.connect(sandbox.sandboxId);
found.kept = (await again.runCode("kept + 1")).text;

await sandbox.files.write("d/a.txt", "text \u00fc");
found.files = {
  text: await sandbox.files.read("/home/user/d/a.txt"),
  names: (await sandbox.files.list("d")).map((entry) => entry.name),
  missing: await sandbox.files.exists("d/b.txt"),
};

const { commands } = sandbox;
const said = [];
const done = await commands.run("echo a; echo b >&2; cat d/a.txt; echo $ONE", {
  cwd: "/home/user",
  envs: { ONE: "1" },
  onStdout: (text) => said.push(text),
});
found.command = {
  code: done.exitCode,
  stdout: done.stdout,
  stderr: done.stderr,
  said: said.join(""),
};
const wrong = await commands.run("exit 3").catch((error) => error);
found.exit = [wrong.name, wrong.exitCode];
const late = await commands.run("sleep 600", { timeoutMs: 1000 }).catch((error) => error);
found.late = late.name;

const started = await commands.run("cat; echo end", { background: true, stdin: true });
found.listed = (await commands.list()).some((process) => process.pid === started.pid);
await commands.sendStdin(started.pid, "one\n");
await started.disconnect();
const followed = await commands.connect(started.pid);
await commands.sendStdin(started.pid, "two\n");
await commands.closeStdin(started.pid);
found.followed = (await followed.wait()).stdout;
const sleeper = await commands.run("sleep 600", { background: true, timeoutMs: 0 });
found.killed = await sleeper.kill();
found.signal = (await sleeper.wait().catch((error) => error)).error;
found.unknown = await commands.kill(sleeper.pid);

const bytes = [];
const terminal = await sandbox.pty.create({
  rows: 24,
  cols: 80,
  onData: (data) => bytes.push(data),
});
await sandbox.pty.resize(terminal.pid, { rows: 30, cols: 100 });
await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("stty size; exit\n"));
await terminal.wait();
found.terminal = Buffer.concat(bytes).toString().includes("30 100\r\n");

const watched = await sandbox.files.watchDir("d", () => {}).catch((error) => error);
found.watched = watched.message;
assert(await sandbox.isRunning());
found.ended = [await sandbox.kill(), await sandbox.isRunning()];
console.log(JSON.stringify(found));
