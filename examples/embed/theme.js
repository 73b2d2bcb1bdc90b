// The choice of a theme, which is a class of the element.
const inbox = document.querySelector("parley-inbox");

document.querySelector("select").addEventListener("change", ({ target }) => {
  inbox.className = target.value;
});
