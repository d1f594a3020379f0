// The report's page: one HTML file with everything in it.
//
// What comes from inputs is text, never markup: it goes into one block of JSON with <, >, & and the
// two line separators of Unicode escaped, and the page's code shows it as text only. Should that
// ever fail, the page's Content-Security-Policy lets no script run but the page's own (by digest)
// and opens no connection.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/report/views.hpp"

namespace forescale {

// JSON that is safe inside <script type="application/json">.
std::string json_for_html(const nlohmann::json& document);

// The whole page for a document of read_report_inputs, with "title", "command" and "generator".
std::string report_page(const nlohmann::json& document, const std::vector<ReportView>& views);

}  // namespace forescale
