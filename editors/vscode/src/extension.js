// Starts `adl lsp` and shows what its commands return. Everything else is standard.
"use strict";

const vscode = require("vscode");
const { LanguageClient, State } = require("vscode-languageclient/node");

let client;
let output;

function start() {
  const command = vscode.workspace.getConfiguration("adl").get("path", "adl");
  const server = { command, args: ["lsp"] };
  const options = {
    documentSelector: [
      { language: "adl", scheme: "file" },
      { language: "adl", scheme: "untitled" },
      { language: "adl", notebook: "*" },
      // Derivatives and residuals that the server shows: their line numbers are links.
      { scheme: "file", pattern: "**/adl-views/*.txt" },
    ],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{adl,csv,npy,json}") },
    middleware: { executeCommand: execute },
  };
  client = new LanguageClient("adl", "adl", server, options);
  return client.start().catch((e) => {
    vscode.window.showErrorMessage(`adl: the language server did not start: ${e.message}. Is \`${command}\` installed?`);
  });
}

// Commands of the server: their output goes to a channel, and views are shown by the server itself.
async function execute(command, args, next) {
  const title = { location: vscode.ProgressLocation.Window, title: `adl: ${command.replace("adl.", "")}` };
  const result = await vscode.window.withProgress(title, () => next(command, args));
  if (result && (command === "adl.run" || command === "adl.test" || command === "adl.bench")) {
    output.clear();
    output.append(result.output + result.errors);
    output.show(true);
  }
  return result;
}

async function restart() {
  if (client && client.state !== State.Stopped) {
    await client.stop();
  }
  return start();
}

function runFile() {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return;
  }
  const command = vscode.workspace.getConfiguration("adl").get("path", "adl");
  const terminal = vscode.window.createTerminal("adl");
  terminal.show();
  terminal.sendText(`${command} "${editor.document.fileName}"`);
}

async function activate(context) {
  output = vscode.window.createOutputChannel("adl output");
  context.subscriptions.push(
    output,
    vscode.commands.registerCommand("adl.restart", restart),
    vscode.commands.registerCommand("adl.runFile", runFile),
  );
  await start();
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
