// Light or dark, before anything is drawn: as the system has it until the button says otherwise, and
// light on paper. Whoever draws by hand listens to "themechange" of window.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    dispatchEvent(new Event("themechange"));
  };
  const current = () => chosen ?? (system.matches ? "dark" : "light");
  system.addEventListener("change", () => apply(current()));
  addEventListener("beforeprint", () => apply("light"));
  addEventListener("afterprint", () => apply(current()));
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => button.setAttribute("aria-pressed", current() === "dark");
    button.addEventListener("click", () => {
      chosen = current() === "dark" ? "light" : "dark";
      apply(current());
    });
    addEventListener("themechange", show);
    show();
  });
  apply(current());
})();
