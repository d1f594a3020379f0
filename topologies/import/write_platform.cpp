#include "topologies/import/write_platform.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace forescale {
namespace {

using nlohmann::json;

std::string in_quotes(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

// A list with an item a line, each once.
std::string lines_of(const std::vector<std::string>& items, const std::string& indent) {
  std::vector<std::string> lines;
  for (const std::string& item : items) {
    std::string line = fmt::format("{}  {}", indent, item);
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
  }
  return lines.empty() ? "[]" : fmt::format("[\n{}\n{}]", fmt::join(lines, ",\n"), indent);
}

std::string with_source(const std::string& members, const std::string& source) {
  return fmt::format("{{{}{}}}", members,
                     source.empty() ? "" : ", \"source\": " + in_quotes(source));
}

std::string line_of(const DraftDevice& device) {
  const bool has_socket = device.kind != DeviceKind::kNvSwitch;
  return with_source(
      fmt::format("\"name\": {}, \"kind\": \"{}\"{}", in_quotes(device.name), name_of(device.kind),
                  has_socket ? fmt::format(", \"socket\": {}", device.socket) : ""),
      device.source);
}

std::string line_of(const DraftLink& link) {
  return with_source(fmt::format("\"from\": {}, \"to\": {}, \"class\": {}", in_quotes(link.from),
                                 in_quotes(link.to), in_quotes(link.link_class)),
                     link.source);
}

template <class Item>
std::string lines_of_items(const std::vector<Item>& items, const std::string& indent) {
  std::vector<std::string> lines;
  for (const Item& item : items) lines.push_back(line_of(item));
  return lines_of(lines, indent);
}

std::string lines_of_texts(const std::vector<std::string>& list) {
  std::vector<std::string> items;
  for (const std::string& each : list) items.push_back(in_quotes(each));
  return lines_of(items, "  ");
}

std::string text_of_node(const FinishedPlatform& platform) {
  const DraftNode& node = *platform.draft.node;
  const std::string cpu = node.cpu.empty() ? "" : fmt::format("\"cpu\": {}", in_quotes(node.cpu));
  if (node.count(DeviceKind::kHost) > 0)
    return fmt::format("  \"node\": {{\"count\": {}, \"layout\": \"host\"{}{}}}", platform.nodes,
                       cpu.empty() ? "" : ", ", cpu);
  std::string out = fmt::format(
      "  \"node\": {{\n    \"count\": {},\n    \"layout\": \"explicit\",\n", platform.nodes);
  if (!node.gpu.empty()) out += fmt::format("    \"gpu\": {},\n", in_quotes(node.gpu));
  out += fmt::format("    {},\n", cpu);
  if (platform.cores > 0) out += fmt::format("    \"cores\": {},\n", platform.cores);
  return out + fmt::format("    \"devices\": {},\n    \"links\": {}\n  }}",
                           lines_of_items(node.devices, "    "),
                           lines_of_items(node.links, "    "));
}

std::string text_of_fabric(const FatTreeShape& tree, const std::string& link) {
  if (tree.is_one_switch())
    return fmt::format("  \"fabric\": {{\"layout\": \"star\", \"link\": {}}}", in_quotes(link));
  return fmt::format(
      "  \"fabric\": {{\"layout\": \"fat-tree\", \"down\": [{}], \"up\": [{}], \"link\": {}}}",
      fmt::join(tree.down, ", "), fmt::join(tree.up, ", "), in_quotes(link));
}

}  // namespace

std::string text_of_platform(const FinishedPlatform& platform) {
  std::vector<std::string> members = {
      "  \"format\": \"forescale-platform-1\"",
      fmt::format("  \"name\": {}", in_quotes(platform.name)),
      fmt::format("  \"description\": {}", in_quotes(platform.description)),
      fmt::format("  \"source\": {}", lines_of_texts(platform.draft.sources)),
      fmt::format("  \"assumptions\": {}", lines_of_texts(platform.draft.assumed))};
  if (!platform.nccl.empty())
    members.push_back(fmt::format("  \"nccl\": {}", in_quotes(platform.nccl)));
  if (!platform.link_classes.empty())
    members.push_back(fmt::format("  \"link_classes\": {}", json(platform.link_classes).dump()));
  members.push_back(text_of_node(platform));
  if (platform.fabric)
    members.push_back(text_of_fabric(*platform.fabric, platform.draft.node->adapter_link));
  return fmt::format("{{\n{}\n}}\n", fmt::join(members, ",\n"));
}

}  // namespace forescale
