#include "cli/report/views.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"

namespace forescale {
namespace {

namespace fs = std::filesystem;

ReportView read_view(const std::string& name) {
  ReportView view;
  view.script = page_file("views/" + name);
  const size_t end = view.script.find("*/");
  if (!view.script.starts_with("/*!") || end == std::string::npos)
    refuse(name, "", "must open with /*! and what it takes");
  const nlohmann::json head = parse_json(view.script.substr(3, end - 3));
  view.format = head.at("format");
  view.kind = head.at("kind");
  view.made_by = head.at("made_by");
  view.shape = head.at("shape");
  return view;
}

}  // namespace

std::string page_file(const std::string& name) {
  const std::string file = data_path("cli/report/page/" + name);
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  if (text.str().empty()) refuse(file, "", "is part of the report's page and cannot be read");
  return text.str();
}

std::vector<ReportView> report_views() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_path("cli/report/page/views"), error))
    names.push_back(entry.path().filename().string());
  if (names.empty())
    refuse(data_path("cli/report/page/views"), "", "must hold the views of the report's page");
  std::sort(names.begin(), names.end());
  std::vector<ReportView> views;
  for (const std::string& name : names) views.push_back(read_view(name));
  return views;
}

}  // namespace forescale
