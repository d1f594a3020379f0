#include "studies/tune/tune_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/progress.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kLeastTokens = 4096;  // of a sequence on a GPU, with context parallelism
constexpr std::int64_t kMostMicroBatch = 8;
constexpr std::size_t kPredictedAtOnce = 32;

constexpr const char* kTensorField = "tp";
constexpr const char* kContextField = "cp";
constexpr const char* kPipelineField = "pp";
constexpr const char* kVirtualField = "vpp";
constexpr const char* kExpertField = "ep";
constexpr const char* kExpertTensorField = "etp";
constexpr const char* kMicroField = "micro";
constexpr const char* kShardingField = "zero";
constexpr const char* kShardField = "dp_shard";
constexpr const char* kRecomputeField = "recompute";

// What bounds the degrees.
struct LayoutRoom {
  std::int64_t gpus = 0;
  std::int64_t node_gpus = 0;
  std::int64_t tokens = 0;  // of a sequence
  std::int64_t layers = 0;
  std::int64_t experts = 0;  // 0: none
};

std::vector<std::int64_t> powers_of_two_to(std::int64_t most) {
  std::vector<std::int64_t> powers;
  for (std::int64_t power = 1; power <= most; power *= 2) powers.push_back(power);
  return powers;
}

std::vector<std::int64_t> divisors_of(std::int64_t number, std::int64_t most) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t divisor = 1; divisor <= std::min(number, most); ++divisor)
    if (number % divisor == 0) divisors.push_back(divisor);
  return divisors;
}

// A searched field of whole numbers: which it is tried with in a layout whose fields before it in
// kDegrees have their values.
struct SearchedDegree {
  const char* field;
  const char* values_doc;
  std::int64_t Layout::*member;
  std::vector<std::int64_t> (*values)(const LayoutRoom& room, const Layout& layout);
};

const std::vector<SearchedDegree>& degrees() {
  static const std::vector<SearchedDegree> kDegrees = {
      {kTensorField, "powers of two up to the GPUs of a node", &Layout::tensor,
       [](const LayoutRoom& room, const Layout&) {
         return powers_of_two_to(std::min(room.gpus, room.node_gpus));
       }},
      {kContextField, "powers of two that leave a GPU 4096 tokens of a sequence", &Layout::context,
       [](const LayoutRoom& room, const Layout&) {
         return powers_of_two_to(std::max<std::int64_t>(1, room.tokens / kLeastTokens));
       }},
      {kPipelineField, "divisors of the GPUs up to the layers", &Layout::pipeline,
       [](const LayoutRoom& room, const Layout& layout) {
         const std::int64_t others = layout.tensor * layout.context;
         return room.gpus % others == 0 ? divisors_of(room.gpus / others, room.layers)
                                        : std::vector<std::int64_t>{};
       }},
      {kVirtualField, "divisors of the layers of a pipeline rank", &Layout::virtual_stages,
       [](const LayoutRoom& room, const Layout& layout) {
         if (layout.pipeline == 1 || layout.schedule != Layout().schedule ||
             room.layers % layout.pipeline != 0)
           return std::vector<std::int64_t>{1};
         return divisors_of(room.layers / layout.pipeline, room.layers);
       }},
      {kExpertField, "divisors of the experts", &Layout::expert,
       [](const LayoutRoom& room, const Layout& layout) {
         return room.experts == 0 ? std::vector<std::int64_t>{1}
                                  : divisors_of(room.experts, room.gpus / layout.pipeline);
       }},
      {kExpertTensorField, "1 and tp", &Layout::expert_tensor,
       [](const LayoutRoom& room, const Layout& layout) {
         return room.experts == 0 || layout.tensor == 1
                    ? std::vector<std::int64_t>{layout.expert_tensor}
                    : std::vector<std::int64_t>{1, layout.tensor};
       }},
      {kMicroField, "powers of two up to 8", &Layout::micro_batch,
       [](const LayoutRoom&, const Layout&) { return powers_of_two_to(kMostMicroBatch); }}};
  return kDegrees;
}

// A candidate: it fits nominally.
struct LayoutCandidate {
  Layout layout;
  bool surely_fits = false;
  double least_s = 0;  // an iteration takes that at least
};

class LayoutSearch {
 public:
  LayoutSearch(const LayoutTuneSettings& settings, Asker& asker)
      : settings_(settings),
        asker_(asker),
        named_(fields_named(settings.question.layout, kLayoutOption)),
        fixed_(parse_layout(settings.question.layout, kLayoutOption)) {
    check_layout_question(settings.question);
    if (fixed_.global_batch == 0)
      refuse(kLayoutOption, settings.question.layout,
             "must name global=N, the sequences of an iteration");
    for (const std::string& field : settings.only) {
      if (!searched_layout_fields().contains(field))
        refuse("--only", field, unknown_name(field, names_of(searched_layout_fields())));
      if (named_.contains(field))
        refuse("--only", field, "stays as --layout says: leave it out there");
    }
  }

  LayoutTuning run() {
    tuning_.gpus = settings_.gpus;
    const std::vector<LayoutCandidate> candidates = fitting(combinations());
    predict(candidates);
    if (settings_.has_interval) add_intervals();
    return std::move(tuning_);
  }

 private:
  template <class Value>
  static std::vector<std::string> names_of(const std::map<std::string, Value>& all) {
    std::vector<std::string> names;
    for (const auto& [name, value] : all) names.push_back(name);
    return names;
  }

  bool is_searched(const std::string& field) const {
    if (named_.contains(field)) return false;
    return settings_.only.empty() ||
           std::find(settings_.only.begin(), settings_.only.end(), field) != settings_.only.end();
  }

  LayoutRoom room() {
    const Transformer model = transformer_of(settings_.question);
    const LayoutCase about = case_of(fixed_);
    const Platform& platform = asker_.machine(machine_question(about)).platform;
    return {
        .gpus = settings_.gpus,
        .node_gpus = platform.slot_count() / std::max(1, platform.node_count),
        .tokens = settings_.question.sequence > 0 ? settings_.question.sequence : model.sequence,
        .layers = model.layers,
        .experts = model.experts ? model.experts->count : 0};
  }

  LayoutCase case_of(const Layout& layout) const {
    LayoutCase about{.question = settings_.question, .gpus = settings_.gpus};
    about.question.layout = to_text(layout);
    about.question.gpus = {settings_.gpus};
    return about;
  }

  void note_tried(const std::string& field, const std::string& value) {
    std::vector<std::string>& values = tuning_.tried[field];
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }

  std::vector<Layout> combinations() {
    const LayoutRoom about = room();
    std::vector<Layout> all = {fixed_};
    for (const SearchedDegree& degree : degrees()) {
      if (!is_searched(degree.field)) continue;
      std::vector<Layout> more;
      for (const Layout& layout : all)
        for (const std::int64_t value : degree.values(about, layout)) {
          more.push_back(layout);
          more.back().*degree.member = value;
          note_tried(degree.field, std::to_string(value));
        }
      all = std::move(more);
    }
    return with_shards(about, with_sharding(all));
  }

  std::vector<Layout> with_sharding(const std::vector<Layout>& all) {
    if (!is_searched(kShardingField)) return all;
    std::vector<Layout> sharded;
    for (Layout layout : all) {
      // All of a stage's parameters, gathered for every micro-batch's passes of a pipeline, are
      // moved too often.
      for (const StateSharding sharding : {StateSharding::kOptimizer, StateSharding::kParameters}) {
        if (sharding == StateSharding::kParameters && layout.pipeline > 1) continue;
        layout.sharding = sharding;
        sharded.push_back(layout);
        note_tried(kShardingField, name_of(sharding));
      }
    }
    return sharded;
  }

  // Parameters shared by all copies, or by those of each node (hybrid sharding).
  std::vector<Layout> with_shards(const LayoutRoom& about, const std::vector<Layout>& all) {
    const Framework framework = settings_.question.framework.value_or(kDefaultTransformerFramework);
    if (!is_searched(kShardField) ||
        !transformer_framework(framework, LayerCode::kCompiled, "", "--framework", nullptr)
             .has_hybrid_sharding)
      return all;
    std::vector<Layout> shared;
    for (const Layout& layout : all) {
      shared.push_back(layout);
      note_tried(kShardField, "all");
      if (layout.sharding != StateSharding::kParameters ||
          about.node_gpus % (layout.tensor * layout.context) != 0)
        continue;
      const std::int64_t copies = about.gpus / (layout.tensor * layout.context * layout.pipeline);
      const std::int64_t on_node = about.node_gpus / (layout.tensor * layout.context);
      if (on_node < 2 || copies <= on_node || copies % on_node != 0) continue;
      shared.push_back(layout);
      shared.back().data_shard = on_node;
      note_tried(kShardField, std::to_string(on_node));
    }
    return shared;
  }

  std::vector<Recompute> recomputations() {
    if (!is_searched(kRecomputeField)) return {fixed_.recompute};
    std::vector<Recompute> all = {Recompute::kNone, Recompute::kSelective, Recompute::kFull};
    for (const Recompute recompute : all) note_tried(kRecomputeField, name_of(recompute));
    return all;
  }

  std::vector<LayoutCandidate> fitting(const std::vector<Layout>& all) {
    tuning_.combinations = all.size();
    if (all.empty()) {
      set_up_layout(case_of(fixed_), asker_);  // says what does not divide
      refuse(kLayoutOption, settings_.question.layout,
             fmt::format("leaves no layout of {} GPUs to search", settings_.gpus));
    }
    std::vector<LayoutCandidate> candidates;
    ProgressLine progress("looking at the memory of layouts", all.size());
    bool has_one_failure = true;  // so far: it is not the layouts'
    for (std::size_t i = 0; i < all.size(); ++i) {
      try {
        const std::size_t before = candidates.size();
        add_fitting(all[i], candidates);
        if (candidates.size() == before) ++tuning_.too_large;
      } catch (const InputError& error) {
        if (++tuning_.refused == 1) first_failure_ = error.what();
        has_one_failure = has_one_failure && first_failure_ == error.what();
        if (tuning_.refused == all.size() && has_one_failure) throw;
        if (tuning_.refused == all.size())
          refuse("--gpus", std::to_string(settings_.gpus),
                 fmt::format("hold no layout: none of {} combinations goes together; the first: "
                             "{}. The GPUs' prime factors have to be in the global batch, the "
                             "layers or what else is divided among them",
                             all.size(), first_failure_));
      }
      progress.done(i + 1);
    }
    if (candidates.empty())
      refuse("--gpus", std::to_string(settings_.gpus),
             fmt::format("hold no layout of {}: the smallest that was tried, {}, needs {} of {}",
                         settings_.question.model, smallest_, to_text(Bytes{smallest_bytes_}),
                         to_text(Bytes{gpu_memory_bytes_})));
    std::stable_sort(
        candidates.begin(), candidates.end(),
        [](const LayoutCandidate& a, const LayoutCandidate& b) { return a.least_s < b.least_s; });
    return candidates;
  }

  void add_fitting(Layout layout, std::vector<LayoutCandidate>& candidates) {
    bool has_nominal = false;
    for (const Recompute recompute : recomputations()) {
      layout.recompute = recompute;
      const LayoutSetUp set_up = set_up_layout(case_of(layout), asker_);
      const LayoutMemory memory = layout_memory(set_up);
      gpu_memory_bytes_ = set_up.gpu.memory.value;
      if (smallest_.empty() || memory.bytes < smallest_bytes_) {
        smallest_ = to_text(layout);
        smallest_bytes_ = memory.bytes;
      }
      const bool surely_fits = memory.high_bytes <= gpu_memory_bytes_;
      if (memory.bytes > gpu_memory_bytes_ || (has_nominal && !surely_fits)) continue;
      candidates.push_back({.layout = layout,
                            .surely_fits = surely_fits,
                            .least_s = least_iteration_s(set_up.work)});
      if (surely_fits) return;
      has_nominal = true;
    }
  }

  // Best first; those whose kernels alone take longer than the last of the best stay out.
  void predict(const std::vector<LayoutCandidate>& candidates) {
    ProgressLine progress("predicting layouts", candidates.size());
    std::size_t next = 0;
    while (next < candidates.size() && !is_decided(candidates, next)) {
      std::vector<LayoutCase> cases;
      for (; next < candidates.size() && cases.size() < kPredictedAtOnce; ++next)
        cases.push_back(case_of(candidates[next].layout));
      for (LayoutPrediction& each : predict_layouts(cases, asker_, true)) take(std::move(each));
      progress.done(next);
    }
    tuning_.too_slow = candidates.size() - next;
    if (tuning_.best.empty()) refuse(kLayoutOption, settings_.question.layout, first_failure_);
    if (tuning_.surely_fitting && tuning_.surely_fitting->layout == tuning_.best.front().layout)
      tuning_.surely_fitting.reset();
  }

  bool is_decided(const std::vector<LayoutCandidate>& candidates, std::size_t next) const {
    if (tuning_.best.size() < settings_.best) return false;
    const double least_s = candidates[next].least_s;
    if (tuning_.best.back().iteration_s > least_s) return false;
    if (tuning_.surely_fitting) return tuning_.surely_fitting->iteration_s <= least_s;
    return std::none_of(candidates.begin() + static_cast<std::ptrdiff_t>(next), candidates.end(),
                        [](const LayoutCandidate& one) { return one.surely_fits; });
  }

  void take(LayoutPrediction prediction) {
    if (!prediction.failure.empty()) {
      ++tuning_.refused;
      if (first_failure_.empty()) first_failure_ = prediction.failure;
      return;
    }
    ++tuning_.predicted;
    if (prediction.surely_fits() &&
        (!tuning_.surely_fitting || prediction.iteration_s < tuning_.surely_fitting->iteration_s))
      tuning_.surely_fitting = prediction;
    const auto place = std::upper_bound(
        tuning_.best.begin(), tuning_.best.end(), prediction.iteration_s,
        [](double time_s, const LayoutPrediction& other) { return time_s < other.iteration_s; });
    tuning_.best.insert(place, std::move(prediction));
    if (tuning_.best.size() > settings_.best) tuning_.best.pop_back();
  }

  void add_intervals() {
    std::vector<LayoutPrediction*> all;
    for (LayoutPrediction& each : tuning_.best) all.push_back(&each);
    if (tuning_.surely_fitting) all.push_back(&*tuning_.surely_fitting);
    std::vector<LayoutCase> cases;
    for (const LayoutPrediction* each : all) cases.push_back(case_of(each->layout));
    std::vector<LayoutPrediction> ranged = predict_layout_ranges(cases, asker_);
    for (std::size_t i = 0; i < all.size(); ++i) *all[i] = std::move(ranged[i]);
  }

  const LayoutTuneSettings& settings_;
  Asker& asker_;
  const std::set<std::string> named_;
  const Layout fixed_;
  LayoutTuning tuning_;
  std::string first_failure_;
  std::string smallest_;  // the layout that needs least
  std::int64_t smallest_bytes_ = 0;
  std::int64_t gpu_memory_bytes_ = 0;
};

}  // namespace

const std::map<std::string, std::string>& searched_layout_fields() {
  static const std::map<std::string, std::string> kFields = [] {
    std::map<std::string, std::string> fields = {
        {kShardingField, "optimizer; parameters where pp is 1"},
        {kShardField, "all, and with sharded parameters those of a node"},
        {kRecomputeField, "none, selective, full: the first that fits"}};
    for (const SearchedDegree& degree : degrees()) fields[degree.field] = degree.values_doc;
    return fields;
  }();
  return kFields;
}

double least_iteration_s(const IterationWork& work) {
  struct RankTimes {
    double busy_s = 0;
    double late_s = 0;  // of that, gradients of weights that a split backward pass leaves for later
    double update_s = 0;
    // A micro-batch's way to its first stage, and from there.
    double there_s = std::numeric_limits<double>::infinity();
    double back_s = std::numeric_limits<double>::infinity();
  };
  std::vector<RankTimes> ranks(static_cast<std::size_t>(work.shape.ranks));
  const auto micro_batches = static_cast<double>(work.micro_batches_of_a_stage());
  double there_s = 0;
  double back_s = 0;
  for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
    const StageWork& all = work.stages[stage];
    const double late_s = work.schedule->splits_backward ? all.part.weight_gradients_s : 0;
    const double backward_s = all.part.backward_s + all.recomputed * all.part.again_s;
    RankTimes& rank = ranks[static_cast<std::size_t>(work.rank_of_stage(stage))];
    rank.busy_s += micro_batches * (all.part.forward_s + backward_s);
    rank.late_s += micro_batches * late_s;
    rank.update_s += all.optimizer_s;
    if (stage_before(*work.schedule, work.shape, static_cast<int>(stage)) < 0) there_s = back_s = 0;
    rank.there_s = std::min(rank.there_s, there_s);
    rank.back_s = std::min(rank.back_s, back_s);
    there_s += all.part.forward_s;
    back_s += backward_s - late_s;
  }
  double longest_s = 0;
  double update_s = 0;
  for (const RankTimes& rank : ranks) {
    const double at_end_s = std::max(rank.late_s, rank.back_s);
    longest_s = std::max(longest_s, rank.there_s + rank.busy_s - rank.late_s + at_end_s);
    update_s = std::max(update_s, rank.update_s);
  }
  return longest_s + update_s;
}

Layout as_asked(Layout layout) {
  const Layout fresh;
  layout.data = fresh.data;
  if (layout.expert_tensor == layout.tensor) layout.expert_tensor = fresh.expert_tensor;
  if (layout.virtual_stages > 1 && layout.schedule == "interleaved")
    layout.schedule = fresh.schedule;
  return layout;
}

LayoutTuning tune_layout(const LayoutTuneSettings& settings, Asker& asker) {
  return LayoutSearch(settings, asker).run();
}

}  // namespace forescale
