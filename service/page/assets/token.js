// Moves the token of the link from the address into the form, and out of the history. A page that cannot take it yet, since
// nobody is signed in, keeps it for its next visit.
const place = "token " + location.pathname;
const token = new URLSearchParams(location.hash.slice(1)).get("t") ?? sessionStorage.getItem(place);
if (token) {
  document.documentElement.classList.add("has-token");
  history.replaceState(null, "", location.pathname + location.search);
  addEventListener("DOMContentLoaded", () => {
    const field = document.querySelector("input[name=token]");
    if (field) field.value = token;
    if (field) sessionStorage.removeItem(place);
    else sessionStorage.setItem(place, token);
  });
}
