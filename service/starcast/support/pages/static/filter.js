/** A filter for the rows of a page: by words, and by the other fields of the form, whose values are data attributes of the rows. */

const form = /** @type {HTMLFormElement} */ (document.getElementById("filter"));
const shown = /** @type {HTMLElement} */ (document.getElementById("shown"));
const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".filtered")]);
const texts = rows.map((row) => `${row.textContent} ${row.dataset.words ?? ""}`.toLowerCase());

function applyFilter() {
  const { words: typed = "", ...fields } = Object.fromEntries(new FormData(form));
  const words = String(typed).toLowerCase().split(/\s+/);
  let count = 0;
  rows.forEach((row, place) => {
    const matches =
      Object.entries(fields).every(([name, value]) => !value || row.dataset[name] === value) &&
      words.every((word) => texts[place]?.includes(word));
    row.hidden = !matches;
    count += Number(matches);
  });
  const noun = shown.dataset.noun;
  shown.textContent = count === rows.length ? `${count} ${noun}` : `${count} of ${rows.length} ${noun}`;
}

form.hidden = false;
form.addEventListener("input", applyFilter);
form.addEventListener("submit", (event) => event.preventDefault());
// A link to a row shows the row even if the filter hides it.
addEventListener("hashchange", () => {
  const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!row?.hidden) return;
  form.reset();
  applyFilter();
  row.scrollIntoView();
});
