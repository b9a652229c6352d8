/** The filter of the claims in a page that is a file of its own: by paper, verdict and words. */

const form = /** @type {HTMLFormElement} */ (document.getElementById("filter"));
const shown = /** @type {HTMLElement} */ (document.getElementById("shown"));
const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("table.claims tbody tr")]);
const texts = rows.map((row) => (row.textContent ?? "").toLowerCase());

function applyFilter() {
  const fields = new FormData(form);
  const [paper, verdict] = [fields.get("paper"), fields.get("verdict")];
  const words = String(fields.get("words")).toLowerCase().split(/\s+/);
  let count = 0;
  rows.forEach((row, place) => {
    const matches =
      (!paper || row.dataset.paper === paper) &&
      (!verdict || row.dataset.verdict === verdict) &&
      words.every((word) => texts[place]?.includes(word));
    row.hidden = !matches;
    count += Number(matches);
  });
  shown.textContent = count === rows.length ? `${count} claims` : `${count} of ${rows.length} claims`;
}

form.hidden = false;
form.addEventListener("input", applyFilter);
form.addEventListener("submit", (event) => event.preventDefault());
// A link to a claim shows it whatever is filtered.
addEventListener("hashchange", () => {
  const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!row?.hidden) return;
  form.reset();
  applyFilter();
  row.scrollIntoView();
});
