// Adds what a person can do without: a button that shows a password, and one that copies what is shown once.
addEventListener("DOMContentLoaded", () => {
  for (const input of document.querySelectorAll("input[type=password]")) {
    const focused = document.activeElement === input;
    const button = beside(input, "Show");
    button.setAttribute("aria-pressed", "false");
    const set = (shown) => {
      input.type = shown ? "text" : "password";
      button.setAttribute("aria-pressed", String(shown));
    };
    button.addEventListener("click", () => set(input.type === "password"));
    input.form?.addEventListener("submit", () => set(false)); // so that it is kept as a password, and by nothing else
    if (focused) input.focus();
  }
  for (const shown of document.querySelectorAll("[data-copy]")) {
    history.replaceState(null, "", shown.dataset.after); // whoever reloads the page sees the list, and makes no second one
    const button = beside(shown, "Copy");
    button.addEventListener("click", async () => {
      shown.select();
      try {
        await navigator.clipboard.writeText(shown.value);
        say(button, "Copied");
      } catch {
        say(button, "Press Ctrl-C");
      }
    });
  }
});

// say has a button tell what came of it.
function say(button, text) {
  button.textContent = text;
  button.setAttribute("aria-label", text);
}

// beside puts a button at the end of a field.
function beside(field, text) {
  const row = document.createElement("div");
  row.className = "with-act";
  field.replaceWith(row);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn";
  button.textContent = text;
  const label = field.labels?.[0]?.firstChild?.textContent.trim();
  if (label) button.setAttribute("aria-label", `${text} ${label.toLowerCase()}`);
  row.append(field, button);
  return button;
}
