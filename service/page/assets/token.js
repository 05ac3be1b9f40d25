// Moves the token of the link from the address into the form, and out of the history.
const token = new URLSearchParams(location.hash.slice(1)).get("t");
if (token) {
  document.documentElement.classList.add("has-token");
  history.replaceState(null, "", location.pathname + location.search);
  addEventListener("DOMContentLoaded", () => {
    const field = document.querySelector("input[name=token]");
    if (field) field.value = token;
  });
}
