/* Notice that the visitor has used the page while it was not yet known to the server to which it is connected again.

   After a lost connection another server, or one that was restarted, runs the page again. Until that run has ended, the
   server does not know the parts of the page, and Streamlit drops what a visitor changes in them. Every later request
   carries the values of all widgets, so one more request delivers the change. */

import { whenIdle, whenRunBegins } from "./mount.js";

const USE = ["input", "click", "keydown"];

/** Call `report` after each reconnection during which the page was used; return the function that ends this. */
export function watchReconnections(report) {
  const app = /** @type {HTMLElement | null} */ (document.querySelector("[data-test-connection-state]"));
  if (!app) return () => {};
  const isConnected = () => app.dataset.testConnectionState === "CONNECTED";
  let wasLost = false,
    wasUsed = false;
  const onUse = () => (wasUsed = true);
  async function onChange() {
    if (!isConnected()) wasLost = true;
    if (!wasLost || !isConnected()) return;
    [wasLost, wasUsed] = [false, false];
    for (const kind of USE) document.addEventListener(kind, onUse, true);
    await whenRunBegins();
    await whenIdle();
    for (const kind of USE) document.removeEventListener(kind, onUse, true);
    if (wasUsed) report();
  }
  const observer = new MutationObserver(onChange);
  observer.observe(app, { attributeFilter: ["data-test-connection-state"] });
  return () => observer.disconnect();
}
