// The official TypeScript client of the Model Context Protocol, with the
// official package for tasks that its inspector brings along, makes one call of
// a gateway that may be killed meanwhile. usage: node mcp_call.mjs MODE CALL
// COMMAND... where MODE is an era, COMMAND is a URL and a token, or a program
// with its arguments, and CALL is JSON: {"code", "key"}, with "tasks" true if it
// may become a task, and then "cancel" true if it is cancelled; or {"task"}: one
// of an earlier call, which is taken up again. Prints JSON objects: {"task"}
// when a task has begun, and at the end {"text"}, {"status"} or {"error"}.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
} from "@modelcontextprotocol/ext-tasks/client";

const REVISION = "2026-07-28";
const OPERATION = "tools/call";
const [mode, asked, command, ...rest] = process.argv.slice(2);
const wanted = JSON.parse(asked);
const clientInfo = { name: "test", version: "1" };
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command), {
      requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } },
    })
  : new StdioClientTransport({ command, args: rest, env: process.env });
const client = new Client(clientInfo, {
  versionNegotiation: { mode: mode === "legacy" ? mode : { pin: mode } },
});

const say = (what) => console.log(JSON.stringify(what));
const args = { code: wanted.code };
const metadata = wanted.key ? { "hearth/key": wanted.key } : {};

// The client's own codecs refuse what a task looks like, so the package has the
// host send such requests beside the client.
function beside() {
  const pending = new Map();
  const toClient = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const settle = pending.get(message.id);
    if (!settle) return toClient(message, extra);
    pending.delete(message.id);
    return settle(
      message.error
        ? { kind: "error", error: message.error }
        : { kind: "result", result: message.result },
    );
  };
  return (request) =>
    new Promise((resolve, reject) => {
      const id = `beside-${pending.size}-${Date.now()}`;
      pending.set(id, resolve);
      transport.send({ jsonrpc: "2.0", id, ...request }).catch(reject);
    });
}

function taskSession() {
  const modern = client.getProtocolEra() === "modern";
  const framing = {
    protocolVersion: REVISION,
    clientInfo,
    clientCapabilities: {},
  };
  return createTaskSessionFromClient(client, {
    endpointId: "hearth",
    ...(modern ? { rawDispatch: beside(), v2RequestFraming: framing } : {}),
  });
}

async function runAsTask() {
  const session = taskSession();
  const execution = wanted.task
    ? await session.resumeTask({
        endpointId: "hearth",
        generation: "v2",
        taskId: wanted.task,
        originalOperation: OPERATION,
      })
    : await session.callTool("execute", args, { metadata });
  if (execution.kind === "task") say({ task: execution.handle.taskId });
  if (wanted.cancel) await execution.cancel();
  const { outcome } = await execution.settle();
  if (outcome.status === "failed") throw outcome.error;
  if (outcome.status === "cancelled") return say({ status: outcome.status });
  return say({ text: resultFromTaskOutcome(outcome).content[0].text });
}

async function runAtOnce() {
  const params = { name: "execute", arguments: args, _meta: metadata };
  const result = await client.callTool(params);
  say({ text: result.content[0].text });
}

await client.connect(transport);
try {
  await (wanted.tasks || wanted.task ? runAsTask() : runAtOnce());
} catch (error) {
  say({ error: `${error.name}: ${error.message} ${error.cause ?? ""}` });
}
await client.close();
