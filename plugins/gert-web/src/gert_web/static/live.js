// Keeps what is in #live as the server has it: by the events of a run, or now and then. Pages work without it.
"use strict";
(() => {
  const live = document.getElementById("live");
  if (!live) return;
  let waiting = false;
  const update = async () => {
    waiting = false;
    const active = document.activeElement;
    if (active && live.contains(active) && /^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName)) return;
    let text;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      text = await answer.text();
    } catch {
      return;
    }
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const found = fresh.getElementById("live");
    if (!found) return;
    const opened = new Set([...live.querySelectorAll("details[open][id]")].map((one) => one.id));
    const focused = active && live.contains(active) ? active.closest("[id]") : null;
    found.querySelectorAll("details[id]").forEach((one) => opened.has(one.id) && one.setAttribute("open", ""));
    live.replaceChildren(...found.childNodes);
    document.title = fresh.title;
    if (focused) document.getElementById(focused.id)?.querySelector("summary")?.focus();
  };
  const soon = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(update, 250);
  };
  const every = Number(live.dataset.refresh || 0);
  if (every) setInterval(() => document.visibilityState === "visible" && update(), every * 1000);
  if (live.dataset.events) {
    const source = new EventSource(`${live.dataset.events}?after=${live.dataset.after}`);
    source.addEventListener("trace", soon);
    source.addEventListener("end", () => {
      source.close();
      soon();
    });
    document.documentElement.dataset.live = "connecting";
    source.addEventListener("open", () => { document.documentElement.dataset.live = "open"; });
  }
})();
