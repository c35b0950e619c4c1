// The official TypeScript client of the Model Context Protocol against a
// gateway. usage: node mcp_client.mjs MODE COMMAND... where MODE is an era, and
// COMMAND is a URL and a token, or a program with its arguments. Prints one JSON
// object, or fails.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, command, ...rest] = process.argv.slice(2);
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command), {
      requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } },
    })
  : new StdioClientTransport({ command, args: rest, env: process.env });
const client = new Client(
  { name: "test", version: "1" },
  {
    capabilities: { elicitation: {} },
    versionNegotiation: {
      mode: mode === "legacy" || mode === "auto" ? mode : { pin: mode },
    },
  },
);
const asked = [];
client.setRequestHandler("elicitation/create", async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { value: "Ada" } };
});

const call = (name, args) => client.callTool({ name, arguments: args });
const textOf = (result) => result.content[0].text;

await client.connect(transport);
const { tools } = await client.listTools();
const first = await call("execute", { code: "said = 41" });
assert(!first.isError, JSON.stringify(first));
const session = textOf(first).match(/session (\S+)/)[1];
const value = await call("execute", { code: "said + 1", session });
const plot = await call("execute", {
  code: "import matplotlib.pyplot as plt; plt.plot([1, 2]);",
  session,
});
const wrong = await call("execute", { code: "1 / 0", session });
const answered = await call("execute", {
  code: "print('hello', input('Who is it? '))",
  session,
});
const { resources } = await client.listResources();
const notebook = resources.find((one) => one.uri.endsWith(".ipynb"));
const { contents } = await client.readResource({ uri: notebook.uri });
await call("session", { action: "end", session });
await client.close();

console.log(
  JSON.stringify({
    tools: tools.map((tool) => tool.name),
    value: textOf(value),
    image: plot.content[1].mimeType,
    isError: wrong.isError,
    asked,
    answered: textOf(answered),
    cells: JSON.parse(contents[0].text).cells.length,
  }),
);
