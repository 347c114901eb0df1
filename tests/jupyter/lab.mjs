// What the tests of JupyterLab in a browser share.

// Closes the dialogs that JupyterLab may open on a slow machine, such as whether to wait for the kernel. Where it asks for
// a kernel, the one that it proposes is taken. Several may wait for their turn, so none has to be gone afterwards.
export async function closeDialogs(page) {
  const dialog = page.locator("dialog.jp-Dialog");
  const close = async () => {
    const chosen = (await dialog.first().innerText()).includes("Select Kernel") ? "Enter" : "Escape";
    // The key has to arrive in the dialog, which may not have the focus.
    await dialog.first().locator("button.jp-mod-accept, button").last().press(chosen, { timeout: 5_000 });
  };
  // A dialog that is gone meanwhile needs no key.
  await page.addLocatorHandler(dialog, () => close().catch(() => {}), { noWaitAfter: true });
}

// Waits until a notebook has its kernel. The indicator of its toolbar alone says that it is idle before it has one, and
// cells that are run then open a dialog.
export async function connected(page) {
  await page.waitForSelector(".jp-Notebook .cm-content");
  await page.waitForFunction(() => document.querySelector(".jp-Notebook-ExecutionIndicator")?.dataset.status === "idle");
  await page.waitForFunction(() => /\badl \| Idle/.test(document.querySelector("#jp-main-statusbar")?.innerText ?? ""));
}
