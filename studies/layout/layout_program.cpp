#include "studies/layout/layout_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr int kMain = 0;
// Communicators of a pair of stages, by what goes from one to the other.
constexpr int kForwardMessages = 0;
constexpr int kBackwardMessages = 1;

// Exchanges of a pass in an order in which those of each kind are evenly spread.
std::vector<StageExchange> spread_out(const ExchangeCounts& counts) {
  std::vector<std::pair<double, StageExchange>> placed;
  for (const auto& [exchange, count] : counts)
    for (int i = 0; i < count; ++i) placed.emplace_back((i + 0.5) / count, exchange);
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<StageExchange> exchanges;
  for (const auto& [place, exchange] : placed) exchanges.push_back(exchange);
  return exchanges;
}

// Kernels and exchanges of one pass of a stage, and the CPU's time for them.
struct PassWork {
  double kernels_s = 0;
  std::vector<StageExchange> exchanges;
  double host_s = 0;
  Phase phase = Phase::kForward;
};

PassWork pass_work(const StageWork& stage, PassKind kind) {
  const StagePart& part = stage.part;
  if (kind == PassKind::kForward)
    return {.kernels_s = part.forward_s,
            .exchanges = spread_out(part.forward),
            .host_s = stage.host_forward_s,
            .phase = Phase::kForward};
  if (kind == PassKind::kWeightGradient)
    return {.kernels_s = part.weight_gradients_s, .exchanges = {}, .phase = Phase::kBackward};
  PassWork work{.kernels_s = stage.recomputed * part.again_s + part.backward_s,
                .exchanges = spread_out(part.again),
                .host_s = stage.recomputed * stage.host_forward_s + stage.host_backward_s,
                .phase = Phase::kBackward};
  work.exchanges.resize(static_cast<size_t>(
      std::lround(stage.recomputed * static_cast<double>(work.exchanges.size()))));
  for (const StageExchange& exchange : spread_out(part.backward))
    work.exchanges.push_back(exchange);
  if (kind == PassKind::kInputGradient) work.kernels_s -= part.weight_gradients_s;
  return work;
}

// Communicators' ranks, one object for each group.
class GroupsOfRanks {
 public:
  GroupsOfRanks(const RankGrid& grid, const std::vector<int>& nodes) : grid_(grid), nodes_(nodes) {}

  RankGroup of(LayoutGroup kind, int rank) {
    return shared(group_ranks(grid_, kind, rank, nodes_));
  }
  RankGroup pair(int from, int to) { return shared({from, to}); }
  // Of the same places in the other dimensions, in that pipeline stage.
  int peer(int rank, int stage) const {
    GridPlace place = grid_.place_of(rank);
    place[static_cast<size_t>(Dimension::kPipeline)] = stage;
    return static_cast<int>(grid_.rank_at(place));
  }
  int pipeline_rank(int rank) const {
    return static_cast<int>(grid_.place_of(rank)[static_cast<size_t>(Dimension::kPipeline)]);
  }

 private:
  RankGroup shared(const std::vector<int>& ranks) {
    RankGroup& group = known_[ranks];
    if (!group) group = std::make_shared<const std::vector<int>>(ranks);
    return group;
  }

  const RankGrid& grid_;
  const std::vector<int>& nodes_;
  std::map<std::vector<int>, RankGroup> known_;
};

// Writes down one rank's threads.
class RankWriter {
 public:
  RankWriter(const IterationWork& work, GroupsOfRanks& groups, int rank)
      : work_(work),
        groups_(groups),
        rank_(rank),
        order_(work.schedule->orders(work.shape)[static_cast<size_t>(groups.pipeline_rank(rank))]) {
    program_.threads.emplace_back();
  }

  ProgramRank write(int iterations) {
    for (int i = 0; i < iterations; ++i) iteration();
    return std::move(program_);
  }

 private:
  // What a stage sends beside its passes, part by part, on a thread of its own.
  struct Beside {
    int thread = 0;
    std::map<int, std::vector<int>> parts;  // by stage, a signal each
  };

  int add(int thread, Action::Kind kind, decltype(Action::what) what = {}) {
    const bool makes = kind != Action::Kind::kWait && kind != Action::Kind::kSet &&
                       kind != Action::Kind::kEndIteration;
    const int id = makes ? next_id_++ : -1;
    program_.threads[static_cast<size_t>(thread)].actions.push_back(
        {.kind = kind, .id = id, .requests = {}, .what = std::move(what)});
    return id;
  }
  void about(int thread, Action::Kind kind, int request) {
    program_.threads[static_cast<size_t>(thread)].actions.push_back(
        {.kind = kind, .id = -1, .requests = {request}, .what = {}});
  }
  int new_thread() {
    program_.threads.emplace_back();
    return static_cast<int>(program_.threads.size()) - 1;
  }

  void compute(double duration_s, Phase phase, const std::string& label) {
    if (duration_s <= 0) return;
    about(kMain, Action::Kind::kWait,
          add(kMain, Action::Kind::kKernel,
              Kernel{.stream = 0, .duration_s = duration_s, .phase = phase, .label = label}));
  }

  // Nothing for a group of one rank, or of nothing.
  void run(int thread, const LayoutCall& call, Phase phase, int communicator) {
    if (const int request = start(thread, call, phase, communicator); request >= 0)
      about(thread, Action::Kind::kWait, request);
  }
  // So many times: gradients.
  void run_all(int thread, const std::vector<LayoutCall>& calls, int times, int communicator) {
    for (int i = 0; i < times; ++i)
      for (const LayoutCall& call : calls) run(thread, call, Phase::kAggregation, communicator);
  }
  void gather_all(int thread, const StageWork& work) {
    for (int part = 0; part < work.parameter_parts; ++part)
      for (const LayoutCall& call : work.parameters)
        run(thread, call, Phase::kPropagation, kParameters);
  }
  // The request, -1 for none.
  int start(int thread, const LayoutCall& call, Phase phase, int communicator) {
    const RankGroup group = groups_.of(call.group, rank_);
    if (group->size() < 2 || call.bytes == 0) return -1;
    return add(thread, Action::Kind::kCollective,
               CollectiveStep{.op = parse_collective_op(call.op, "layout"),
                              .bytes = call.bytes,
                              .communicator = communicator,
                              .phase = phase,
                              .label = call.op,
                              .group = group});
  }

  // From or to this rank; the request.
  int message(int from, int to, int communicator, Phase phase) {
    return add(kMain, Action::Kind::kCollective,
               CollectiveStep{.op = CollectiveOp::kBroadcast,
                              .bytes = work_.message_bytes,
                              .communicator = communicator,
                              .phase = phase,
                              .label = "activations",
                              .group = groups_.pair(from, to)});
  }

  // The pass that feeds this one, if another rank runs it.
  struct Feed {
    int pipeline_rank = -1;  // none
    int communicator = 0;
  };
  Feed feed_of(const PipelinePass& pass) const {
    const bool is_forward = pass.kind == PassKind::kForward;
    const int before = is_forward ? stage_before(*work_.schedule, work_.shape, pass.stage)
                                  : stage_after(*work_.schedule, work_.shape, pass.stage);
    if (pass.kind == PassKind::kWeightGradient || before < 0) return {};
    const int from = work_.rank_of_stage(static_cast<size_t>(before));
    if (from == work_.rank_of_stage(static_cast<size_t>(pass.stage))) return {};
    return {.pipeline_rank = from, .communicator = communicator_into(pass.stage, is_forward)};
  }
  static int communicator_into(int stage, bool is_forward) {
    return 2 * stage + (is_forward ? kForwardMessages : kBackwardMessages);
  }

  void send_result(const PipelinePass& pass, std::vector<int>& open) {
    const bool is_forward = pass.kind == PassKind::kForward;
    const int next = is_forward ? stage_after(*work_.schedule, work_.shape, pass.stage)
                                : stage_before(*work_.schedule, work_.shape, pass.stage);
    if (pass.kind == PassKind::kWeightGradient || next < 0) return;
    const int to = work_.rank_of_stage(static_cast<size_t>(next));
    if (to == work_.rank_of_stage(static_cast<size_t>(pass.stage))) return;
    open.push_back(message(rank_, groups_.peer(rank_, to), communicator_into(next, is_forward),
                           is_forward ? Phase::kPropagation : Phase::kAggregation));
  }

  // Stages in the order of their first, or last, passes on this rank.
  std::vector<int> stages_by_first_pass() const {
    std::vector<int> stages;
    for (const PipelinePass& pass : order_)
      if (std::find(stages.begin(), stages.end(), pass.stage) == stages.end())
        stages.push_back(pass.stage);
    return stages;
  }
  std::vector<int> stages_by_last_pass() const {
    std::vector<int> stages;
    for (auto pass = order_.rbegin(); pass != order_.rend(); ++pass)
      if (std::find(stages.begin(), stages.end(), pass->stage) == stages.end())
        stages.push_back(pass->stage);
    std::reverse(stages.begin(), stages.end());
    return stages;
  }

  // Of ZeRO 3 the first layer's, or the last one's, where the others go on under the pass.
  int parts_beside(int parts) const {
    if (!work_.gathers_each_pass) return parts;
    return work_.overlaps ? 1 : 0;
  }
  int reduced_beside(const StageWork& work) const {
    if (work.replicas.empty()) return parts_beside(work.gradient_parts);
    return work_.overlaps ? work.gradient_parts : 1;
  }

  // A thread that gathers parameters, each part setting its signal.
  Beside gather() {
    Beside beside{.thread = new_thread(), .parts = {}};
    for (const int stage : stages_by_first_pass()) {
      const StageWork& work = work_.stages[static_cast<size_t>(stage)];
      beside.parts[stage] = {};
      for (int part = 0; part < parts_beside(work.parameter_parts); ++part) {
        beside.parts[stage].push_back(add(kMain, Action::Kind::kSignal));
        for (const LayoutCall& call : work.parameters)
          run(beside.thread, call, Phase::kPropagation, kParameters);
        about(beside.thread, Action::Kind::kSet, beside.parts[stage].back());
      }
    }
    return beside;
  }

  // A thread that reduces gradients, each part waiting for its signal.
  Beside reduce() {
    Beside beside{.thread = new_thread(), .parts = {}};
    for (const int stage : stages_by_last_pass()) {
      const StageWork& work = work_.stages[static_cast<size_t>(stage)];
      beside.parts[stage] = {};
      const int parts = reduced_beside(work);
      for (int part = 0; part < parts; ++part) {
        beside.parts[stage].push_back(add(kMain, Action::Kind::kSignal));
        about(beside.thread, Action::Kind::kWait, beside.parts[stage].back());
        const bool has_gradients =
            !work_.gathers_each_pass || (work_.overlaps && part + 1 == parts);
        if (has_gradients) run_all(beside.thread, work.gradients, 1, kLastGradients);
        run_all(beside.thread, work.replicas, work_.overlaps ? 1 : work.gradient_parts,
                kLastGradients);
      }
    }
    return beside;
  }

  // How much longer a pass's kernels take for what moves under it.
  double slowed_s(const StageWork& work, PassKind kind, bool is_first, bool is_last) const {
    const bool is_forward = kind == PassKind::kForward;
    if (!work_.gathers_each_pass)
      return (is_first ? work.parameters_slow_s : 0) + (is_last ? work.gradients_slow_s : 0);
    const double last_s = is_last ? work.replicas_slow_s : 0;
    if (kind == PassKind::kWeightGradient) return last_s;
    return work.parameters_slow_s + (is_forward ? 0 : work.gradients_slow_s) + last_s;
  }

  // What ZeRO 3 gathers, and reduces, under a pass: the thread's request, or -1.
  int sharded_pass(const StageWork& work, PassKind kind) {
    if (kind == PassKind::kWeightGradient) return -1;
    const int thread = new_thread();
    gather_all(thread, work);
    if (kind != PassKind::kForward)
      run_all(thread, work.gradients, work.gradient_parts, kGradients);
    return add(kMain, Action::Kind::kSpawn, ThreadStart{.thread = thread});
  }

  // `before`: signals that each part of the pass waits for; `after`: that each part sets, but for
  // kAfterAll.
  void run_pass(const PassWork& pass, const std::string& label, const std::vector<int>& before,
                const std::vector<int>& after) {
    const size_t parts = std::max<size_t>({before.size(), after.size(), 1});
    const size_t exchanges = pass.exchanges.size();
    const size_t pieces = std::max(parts, exchanges + 1);
    const auto place = [&](size_t part, size_t count) { return part * pieces / count; };
    double alone_s = pass.kernels_s;
    for (const StageExchange& exchange : pass.exchanges) alone_s -= exchange.under_s();
    const Phase phase = pass.phase == Phase::kForward ? Phase::kPropagation : Phase::kAggregation;
    const int host =
        pass.host_s > 0 ? add(kMain, Action::Kind::kTimer, Timer{.delay_s = pass.host_s}) : -1;
    for (size_t piece = 0; piece < pieces; ++piece) {
      for (size_t part = 0; part < before.size(); ++part)
        if (place(part, before.size()) == piece) about(kMain, Action::Kind::kWait, before[part]);
      compute(alone_s / static_cast<double>(pieces), pass.phase, label);
      for (size_t i = 0; i < exchanges; ++i) {
        if (place(i + 1, exchanges + 1) != piece + 1) continue;
        const StageExchange& exchange = pass.exchanges[i];
        std::vector<int> requests;
        for (const LayoutCall& call : work_.calls_of(exchange))
          requests.push_back(start(kMain, call, phase, kExchanges));
        compute(exchange.under_s(), pass.phase, label);
        for (const int request : requests)
          if (request >= 0) about(kMain, Action::Kind::kWait, request);
      }
      for (size_t part = 0; part < after.size(); ++part)
        if (place(part + 1, after.size()) == piece + 1 && after[part] != kAfterAll)
          about(kMain, Action::Kind::kSet, after[part]);
    }
    if (host >= 0) about(kMain, Action::Kind::kWait, host);
  }

  void iteration() {
    std::vector<int> arriving;
    for (const PipelinePass& pass : order_) {
      const Feed feed = feed_of(pass);
      arriving.push_back(feed.pipeline_rank < 0
                             ? -1
                             : message(groups_.peer(rank_, feed.pipeline_rank), rank_,
                                       feed.communicator,
                                       pass.kind == PassKind::kForward ? Phase::kPropagation
                                                                       : Phase::kAggregation));
    }
    const Beside gathered = gather();
    const Beside reduced = reduce();
    std::vector<int> open{add(kMain, Action::Kind::kSpawn, ThreadStart{.thread = gathered.thread}),
                          add(kMain, Action::Kind::kSpawn, ThreadStart{.thread = reduced.thread})};
    std::map<int, int> passes_left;
    for (const PipelinePass& pass : order_) ++passes_left[pass.stage];
    std::map<int, bool> has_begun;
    for (size_t i = 0; i < order_.size(); ++i) {
      const PipelinePass& pass = order_[i];
      const StageWork& stage = work_.stages[static_cast<size_t>(pass.stage)];
      const bool with_last = i > 0 && order_[i - 1].with_next;
      if (arriving[i] >= 0 && !with_last) about(kMain, Action::Kind::kWait, arriving[i]);
      if (pass.with_next && arriving[i + 1] >= 0)
        about(kMain, Action::Kind::kWait, arriving[i + 1]);
      const bool is_first = !std::exchange(has_begun[pass.stage], true);
      const bool is_last = --passes_left[pass.stage] == 0;
      const std::vector<int> none;
      const std::vector<int>& before = is_first ? gathered.parts.at(pass.stage) : none;
      const std::vector<int>& after = is_last ? reduced.parts.at(pass.stage) : none;
      PassWork body = pass_work(stage, pass.kind);
      body.kernels_s += slowed_s(stage, pass.kind, is_first, is_last);
      const std::string label = fmt::format("{}{}", pass.stage, letter_of(pass.kind));
      if (work_.gathers_each_pass && !work_.overlaps) {
        const bool is_whole = pass.kind != PassKind::kWeightGradient;
        if (is_whole) gather_all(kMain, stage);
        run_pass(body, label, none, none);
        if (is_whole && pass.kind != PassKind::kForward)
          run_all(kMain, stage.gradients, stage.gradient_parts, kGradients);
        for (const int signal : after) about(kMain, Action::Kind::kSet, signal);
      } else if (work_.gathers_each_pass) {
        for (const int signal : before) about(kMain, Action::Kind::kWait, signal);
        const int sharded = sharded_pass(stage, pass.kind);
        std::vector<int> within = after;
        if (!within.empty()) within.back() = kAfterAll;
        run_pass(body, label, none, within);
        if (sharded >= 0) about(kMain, Action::Kind::kWait, sharded);
        if (!after.empty()) about(kMain, Action::Kind::kSet, after.back());
      } else {
        run_pass(body, label, before, after);
      }
      if (with_last) send_result(order_[i - 1], open);
      if (!pass.with_next) send_result(pass, open);
    }
    for (const int request : open) about(kMain, Action::Kind::kWait, request);
    run(kMain, work_.norm, Phase::kAggregation, kExchanges);
    double update_s = 0;
    for (const int stage : stages_by_first_pass())
      update_s += work_.stages[static_cast<size_t>(stage)].optimizer_s;
    compute(update_s, Phase::kUpdate, "optimizer");
    add(kMain, Action::Kind::kEndIteration);
  }

  // Communicators of a group, each in an order of its own.
  static constexpr int kExchanges = 0;
  static constexpr int kParameters = 1;
  static constexpr int kGradients = 2;
  static constexpr int kLastGradients = 3;  // beside the last pass, on a thread of its own
  static constexpr int kAfterAll = -1;      // a signal that comes later

  const IterationWork& work_;
  GroupsOfRanks& groups_;
  const int rank_;
  const std::vector<PipelinePass> order_;
  ProgramRank program_;
  int next_id_ = 0;
};

}  // namespace

Program layout_program(const LayoutCase& about, const LayoutSetUp& set_up, int iterations) {
  const RankGrid grid(set_up.layout, kLayoutOption);
  if (grid.ranks() > kLayoutProgramRanksMax)
    refuse("--gpus", std::to_string(grid.ranks()),
           fmt::format("must be at most {} where every rank is simulated", kLayoutProgramRanksMax));
  GroupsOfRanks groups(grid, set_up.work.nodes);
  Program program;
  program.title = fmt::format("{} on {} GPUs of {}, {}", set_up.model, grid.ranks(),
                              about.question.platform, to_text(set_up.layout));
  program.workers = static_cast<int>(grid.ranks());
  program.iterations = iterations;
  program.has_slowed_kernels = true;
  program.platform = about.question.platform;
  program.stack = about.question.stack;
  program.placement = about.question.placement;
  program.noise = about.question.noise;
  program.stragglers = about.question.stragglers;
  for (int rank = 0; rank < program.workers; ++rank) {
    program.images.push_back(rank == 0 ? set_up.layout.global_batch : 0);  // of all
    program.ranks.push_back(RankWriter(set_up.work, groups, rank).write(iterations));
  }
  return program;
}

}  // namespace forescale
