// JupyterLab's own services against a gateway: kernels, sessions, kernelspecs.
// usage: node services.js URL TOKEN; prints one JSON object, or fails.
"use strict";

const assert = require("node:assert/strict");
const {
  ContentsManager,
  KernelAPI,
  KernelManager,
  KernelMessage,
  KernelSpecManager,
  ServerConnection,
  SessionAPI,
  SessionManager,
} = require("@jupyterlab/services");

const [url, token] = process.argv.slice(2);
const serverSettings = ServerConnection.makeSettings({
  baseUrl: url,
  wsUrl: url.replace("http", "ws"),
  token,
  appendToken: true,
  WebSocket: require("ws"),
});
const report = {};

// An execution's outputs, with its reply.
async function run(kernel, code, options = {}) {
  const future = kernel.requestExecute({ code, ...options });
  const outputs = [];
  future.onIOPub = (message) => outputs.push(message);
  const reply = await future.done;
  return { reply, outputs };
}

const textOf = (outputs) =>
  outputs
    .filter((message) => KernelMessage.isStreamMsg(message))
    .map((message) => message.content.text)
    .join("");

function once(signal, wanted) {
  return new Promise((resolve) => {
    signal.connect(function look(_, value) {
      if (wanted(value)) {
        signal.disconnect(look);
        resolve(value);
      }
    });
  });
}

async function specs() {
  const manager = new KernelSpecManager({ serverSettings });
  await manager.ready;
  report.default = manager.specs.default;
  assert.equal(manager.specs.kernelspecs.python3.language, "python");
  manager.dispose();
}

async function kernels() {
  const manager = new KernelManager({ serverSettings });
  await manager.ready;
  const kernel = await manager.startNew({ name: "python3" });
  report.kernel = kernel.id;
  const info = await kernel.info;
  assert.equal(info.language_info.name, "python");
  report.protocol = info.protocol_version;

  const { reply, outputs } = await run(kernel, "print('hi'); 6 * 7");
  assert.equal(reply.content.status, "ok");
  assert.equal(textOf(outputs), "hi\n");
  const result = outputs.find((m) => KernelMessage.isExecuteResultMsg(m));
  assert.equal(result.content.data["text/plain"], "42");

  const completed = await kernel.requestComplete({
    code: "import os; os.getc",
    cursor_pos: 18,
  });
  assert.ok(completed.content.matches.some((m) => m.endsWith("getcwd")));
  const looked = await kernel.requestInspect({
    code: "print",
    cursor_pos: 5,
    detail_level: 0,
  });
  assert.ok(looked.content.found);
  const whole = await kernel.requestIsComplete({ code: "for i in x:" });
  assert.equal(whole.content.status, "incomplete");
  const history = await kernel.requestHistory({
    hist_access_type: "tail",
    n: 1,
    output: false,
    raw: true,
  });
  assert.equal(history.content.status, "ok");
  const comms = await kernel.requestCommInfo({});
  assert.deepEqual(comms.content.comms, {});

  const asking = kernel.requestExecute({
    code: "name = input('who? '); name",
    allow_stdin: true,
  });
  asking.onStdin = (message) => {
    assert.equal(message.content.prompt, "who? ");
    kernel.sendInputReply({ value: "Ada", status: "ok" }, message.header);
  };
  assert.equal((await asking.done).content.status, "ok");

  const endless = kernel.requestExecute({
    code: "print('on', flush=True)\nwhile True: pass",
  });
  await new Promise((resolve) => {
    endless.onIOPub = (m) => KernelMessage.isStreamMsg(m) && resolve();
  });
  await kernel.interrupt();
  const interrupted = await endless.done;
  assert.equal(interrupted.content.status, "error");
  assert.equal(interrupted.content.ename, "KeyboardInterrupt");

  await withComm(kernel);

  await kernel.restart();
  const after = await run(kernel, "print('name' in dir())");
  assert.equal(textOf(after.outputs), "False\n");

  await kernel.reconnect();
  assert.equal(kernel.connectionStatus, "connected");
  const again = await run(kernel, "print(1 + 1)");
  assert.equal(textOf(again.outputs), "2\n");

  const found = (await KernelAPI.listRunning(serverSettings)).map((k) => k.id);
  assert.ok(found.includes(kernel.id));
  assert.equal(await KernelAPI.getKernelModel("no-such-ker-nel-id", serverSettings), undefined);
  await kernel.shutdown();
  assert.equal(await KernelAPI.getKernelModel(report.kernel, serverSettings), undefined);
  await KernelAPI.shutdownKernel(report.kernel, serverSettings); // 404 is fine
  manager.dispose();
}

// Buffers both ways.
async function withComm(kernel) {
  const { reply } = await run(
    kernel,
    "from comm import get_comm_manager\n" +
      "def opened(comm, message):\n" +
      "    @comm.on_msg\n" +
      "    def got(m): comm.send({'n': 1}, buffers=[bytes(m['buffers'][0])[::-1]])\n" +
      "get_comm_manager().register_target('mirror', opened)"
  );
  assert.equal(reply.content.status, "ok");
  const comm = kernel.createComm("mirror");
  const answer = new Promise((resolve) => (comm.onMsg = resolve));
  await comm.open({}).done;
  comm.send({}, undefined, [new Uint8Array([1, 2, 255]).buffer]);
  const message = await answer;
  const buffer = message.buffers[0];
  const view = ArrayBuffer.isView(buffer)
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer);
  assert.deepEqual([...view], [255, 2, 1]);
}

async function sessions() {
  const kernelManager = new KernelManager({ serverSettings });
  const manager = new SessionManager({ kernelManager, serverSettings });
  await manager.ready;
  const session = await manager.startNew({
    path: "dir/note.ipynb",
    name: "note",
    type: "notebook",
    kernel: { name: "python3" },
  });
  const { outputs } = await run(session.kernel, "print(2)");
  assert.equal(textOf(outputs), "2\n");
  await session.setPath("dir/other.ipynb");
  await session.setName("other");
  const model = await SessionAPI.getSessionModel(session.id, serverSettings);
  assert.equal(model.path, "dir/other.ipynb");
  assert.equal(model.name, "other");
  const old = session.kernel.id;
  await session.changeKernel({ name: "python3" });
  assert.notEqual(session.kernel.id, old);
  assert.equal(textOf((await run(session.kernel, "print(3)")).outputs), "3\n");
  await manager.refreshRunning();
  assert.deepEqual([...manager.running()].map((s) => s.id), [session.id]);

  // `hearth kernelgateway` gives a session whose kernel died a fresh one.
  const again = once(session.kernel.statusChanged, (s) => s === "dead" || s === "autorestarting" || s === "restarting");
  const dying = session.kernel.requestExecute({ code: "import os; os._exit(3)" });
  const reply = await dying.done.catch((reason) => ({ content: { status: "error", ename: String(reason) } }));
  assert.equal(reply.content.status, "error");
  report.dying = reply.content.ename;
  report.status = await Promise.race([
    again,
    new Promise((resolve) => setTimeout(() => resolve("nothing"), 20000).unref()),
  ]);
  await SessionAPI.shutdownSession(session.id, serverSettings);
  manager.dispose();
  kernelManager.dispose();
}

// The files of a session's workspace, and its recording.
async function contents() {
  const manager = new ContentsManager({ serverSettings });
  const kernel = await KernelAPI.startNew({ name: "python3" }, serverSettings);
  const here = `workspaces/${kernel.id}`;
  const names = async (path) =>
    (await manager.get(path)).content.map((entry) => entry.name).sort();

  assert.deepEqual(await names(""), ["recordings", "workspaces"]);
  assert.ok((await names("workspaces")).includes(kernel.id));
  assert.deepEqual(await names(here), []);

  const text = "\u00e4 \ud83d\ude00\n";
  const saved = await manager.save(`${here}/a.txt`, {
    type: "file", format: "text", content: text,
  });
  assert.equal(saved.size, 8);
  const got = await manager.get(`${here}/a.txt`, {
    type: "file", format: "text", content: true,
  });
  assert.equal(got.content, text);
  const empty = await manager.newUntitled({ path: here, type: "notebook" });
  assert.equal(empty.name, "Untitled.ipynb");
  const notebook = { ...(await manager.get(empty.path)).content };
  notebook.metadata = { mine: [1, "\u00e4"] };
  await manager.save(empty.path, { type: "notebook", format: "json", content: notebook });
  assert.deepEqual((await manager.get(empty.path)).content, notebook);
  const folder = await manager.newUntitled({ path: here, type: "directory" });
  const copied = await manager.copy(`${here}/a.txt`, folder.path);
  assert.equal(copied.path, `${folder.path}/a.txt`);
  const renamed = await manager.rename(copied.path, `${folder.path}/b.txt`);
  assert.equal(renamed.name, "b.txt");
  await assert.rejects(manager.rename(renamed.path, `${here}/a.txt`));
  assert.deepEqual(await names(folder.path), ["b.txt"]);
  await manager.delete(renamed.path);
  await manager.delete(folder.path);

  const checkpoint = await manager.createCheckpoint(`${here}/a.txt`);
  assert.deepEqual(
    (await manager.listCheckpoints(`${here}/a.txt`)).map((one) => one.id),
    [checkpoint.id]
  );
  await manager.save(`${here}/a.txt`, { type: "file", format: "text", content: "other" });
  await manager.restoreCheckpoint(`${here}/a.txt`, checkpoint.id);
  assert.equal((await manager.get(`${here}/a.txt`)).content, text);
  await manager.deleteCheckpoint(`${here}/a.txt`, checkpoint.id);
  assert.deepEqual(await manager.listCheckpoints(`${here}/a.txt`), []);

  // As JupyterLab uploads what is big: chunks, each in base64.
  const bytes = Buffer.alloc(3 << 20, "chunk");
  for (let chunk = 1, at = 0; at < bytes.length; at += 1 << 20, chunk++) {
    await manager.save(`${here}/big`, {
      type: "file", format: "base64", name: "big",
      chunk: at + (1 << 20) >= bytes.length ? -1 : chunk,
      content: bytes.subarray(at, at + (1 << 20)).toString("base64"),
    });
  }
  const link = await manager.getDownloadUrl(`${here}/big`);
  const big = await fetch(link, { headers: { Authorization: `token ${token}` } });
  assert.equal(Buffer.compare(Buffer.from(await big.arrayBuffer()), bytes), 0);

  const recording = `recordings/${kernel.id}.ipynb`;
  assert.equal((await manager.get(recording)).content.nbformat, 4);
  await assert.rejects(
    manager.save(recording, { type: "notebook", format: "json", content: notebook }),
    (reason) => reason.response.status === 403,
  );
  report.files = (await names(here)).length;
  await KernelAPI.shutdownKernel(kernel.id, serverSettings);
  manager.dispose();
}

async function main() {
  await specs();
  await kernels();
  await sessions();
  await contents();
  console.log(JSON.stringify(report));
}

main().then(
  () => process.exit(0),
  (reason) => {
    console.error(reason);
    process.exit(1);
  }
);
