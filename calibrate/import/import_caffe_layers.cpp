// Tables of `caffe time` results: rows framework,net,layer,direction,time_ms,... of several
// networks. Their layers' shapes come from --network (one for each net, by its name), with --batch;
// --device chooses the framework where the table has several.
#include <fmt/format.h>

#include <map>
#include <set>

#include "calibrate/import/import_csv.hpp"
#include "calibrate/import/import_layers.hpp"

namespace forescale {
namespace {

constexpr const char* kHeader = "framework,net,layer,direction,time_ms";

bool recognises_caffe_layers(std::string_view line) { return line.starts_with(kHeader); }

class CaffeLayersImporter : public LogImporter {
 public:
  explicit CaffeLayersImporter(ImportTarget& target) : target_(target) {}

  void read(const LogLine& line) override {
    if (recognises_caffe_layers(line.text)) {
      table_ = std::make_unique<CsvTable>(target_, line);
      return;
    }
    table_->read(line);
    const std::string& direction = table_->text("direction");
    if (direction != "forward" && direction != "backward") return;  // sums of the network
    const std::string& framework = table_->text("framework");
    frameworks_.insert(framework);
    if (!target_.options().device.empty() && framework != target_.options().device) return;
    nets_[table_->text("net")].push_back(
        {.line = line,
         .layer = table_->text("layer"),
         .is_backward = direction == "backward",
         .time_s = 1e-3 * table_->positive("time_ms", "time in ms")});
  }

  void end(const LogLine& last) override {
    const LogImportOptions& options = target_.options();
    if (options.device.empty() && frameworks_.size() > 1)
      target_.refuse(last, fmt::format("this table is of {}: say which with --device",
                                       fmt::join(frameworks_, ", ")));
    for (const std::string& name : options.networks) {
      const LayerNetwork network = load_layer_network(name, options.batch);
      const auto rows = nets_.find(network.network.name);
      if (rows == nets_.end())
        target_.refuse(last, fmt::format("the table has no net \"{}\"", network.network.name));
      add_layer_rows(target_, network, rows->second);
      nets_.erase(rows);
    }
    for (const auto& [net, rows] : nets_)
      target_.note(fmt::format("net {}: {} times are left out: no --network gives their shapes",
                               net, rows.size()));
  }

 private:
  ImportTarget& target_;
  std::unique_ptr<CsvTable> table_;
  std::set<std::string> frameworks_;
  std::map<std::string, std::vector<LayerRow>> nets_;
};

std::unique_ptr<LogImporter> open_caffe_layers(ImportTarget& target) {
  return std::make_unique<CaffeLayersImporter>(target);
}

const bool kCaffeLayersRegistered = Registry<LogFormat>::add(
    {.name = "caffe-layers", .recognises = recognises_caffe_layers, .open = open_caffe_layers});

}  // namespace
}  // namespace forescale
