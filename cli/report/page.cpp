#include "cli/report/page.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/report/sha256.hpp"

namespace forescale {
namespace {

// The page's own code, in this order; then the views and main.js.
constexpr const char* kScripts[] = {
    "text.js",    "data.js",          "chart.js",           "plots.js",
    "scaling.js", "breakdown.js",     "tables.js",          "predictions.js",
    "unpack.js",  "timeline_rows.js", "timeline_canvas.js", "timeline.js"};
constexpr const char* kLibraries[] = {"vendor/d3.min.js", "vendor/plot.umd.min.js"};

std::string replace_all(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string html_text(const std::string& text) {
  return replace_all(replace_all(text, "&", "&amp;"), "<", "&lt;");
}

// Puts values for {{names}}, in one pass: what is put in is not looked at again.
std::string fill(const std::string& form, const std::map<std::string, std::string>& values) {
  std::string text;
  size_t done = 0;
  for (size_t open = 0; (open = form.find("{{", done)) != std::string::npos;) {
    const size_t close = form.find("}}", open);
    text += form.substr(done, open - done) + values.at(form.substr(open + 2, close - open - 2));
    done = close + 2;
  }
  return text + form.substr(done);
}

}  // namespace

std::string json_for_html(const nlohmann::json& document) {
  std::string text;
  // Outside of strings JSON has none of these.
  for (const char c : document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
    if (c == '<' || c == '>' || c == '&')
      text += fmt::format("\\u{:04x}", c);
    else
      text += c;
  return replace_all(replace_all(std::move(text), "\u2028", "\\u2028"), "\u2029", "\\u2029");
}

std::string report_page(const nlohmann::json& document, const std::vector<ReportView>& views) {
  std::string own = "\"use strict\";\n(() => {\n";
  for (const char* name : kScripts) own += page_file(name) + "\n";
  for (const ReportView& view : views) own += view.script + "\n";
  own += page_file("main.js") + "\n";
  own += "})();\n";
  std::string scripts;
  std::string digests;
  const auto script = [&](const std::string& text) {
    digests += fmt::format(" 'sha256-{}'", sha256_base64(text));
    return "<script>" + text + "</script>\n";
  };
  const std::string theme = script(page_file("theme.js"));
  for (const char* name : kLibraries) scripts += script(page_file(name));
  scripts += script(own);
  return fill(page_file("template.html"),
              {{"policy",
                "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri "
                "'none'; form-action 'none'; script-src" +
                    digests},
               {"style", page_file("style.css")},
               {"theme", theme},
               {"licences", html_text(page_file("vendor/licences.txt"))},
               {"document", json_for_html(document)},
               {"scripts", scripts}});
}

}  // namespace forescale
