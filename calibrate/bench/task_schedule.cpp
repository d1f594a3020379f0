// The task "schedule": a training schedule on all ranks, and when each of their iterations ended.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/registry.hpp"
#include "calibrate/bench/patterns/start_together.hpp"
#include "calibrate/bench/polled.hpp"
#include "calibrate/bench/tasks.hpp"
#include "calibrate/bench/worker/mpi_worker.hpp"

namespace forescale {
namespace {

using nlohmann::json;

json iteration_to_json(const IterationTime& iteration) {
  return {{"end_s", iteration.end_s}, {"phases_s", by_name(iteration.phase_s, iteration.idle_s)}};
}

json report_of(const MpiRank& rank, double finished_s) {
  json iterations = json::array();
  for (const IterationTime& iteration : rank.iterations())
    iterations.push_back(iteration_to_json(iteration));
  return {{"iterations", std::move(iterations)},
          {"finished_s", finished_s},
          {"messages", rank.sent().messages},
          {"payload_bytes", rank.sent().payload},
          {"control_bytes", rank.sent().control}};
}

// Everybody's text at rank 0, by rank.
std::vector<std::string> gather(const std::string& text, const Patience& patience) {
  const auto ranks = static_cast<size_t>(size_of(MPI_COMM_WORLD));
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Igather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  finish(request, patience);
  const bool is_root = rank_in(MPI_COMM_WORLD) == 0;
  std::vector<int> places(ranks);
  int total = 0;
  for (size_t rank = 0; is_root && rank < ranks; ++rank) {
    places[rank] = total;
    total += lengths[rank];
  }
  std::string all(static_cast<size_t>(total), ' ');
  MPI_Igatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR,
               0, MPI_COMM_WORLD, &request);
  finish(request, patience);
  std::vector<std::string> texts;
  for (size_t rank = 0; is_root && rank < ranks; ++rank)
    texts.push_back(
        all.substr(static_cast<size_t>(places[rank]), static_cast<size_t>(lengths[rank])));
  return texts;
}

// An iteration lasts from the end of the last one, of the slowest worker, to its own, as in
// sim/run/simulate.cpp. A rank's own period is by its own ends.
json answer_of(const ScheduleRequest& request, const std::vector<json>& reports) {
  json answer = {{"format", "forescale-executed-1"},    {"library", mpi_library()},
                 {"schedule", request.schedule},        {"workers", request.workers},
                 {"compute", name_of(request.compute)}, {"iterations", json::array()}};
  const auto workers = static_cast<size_t>(request.workers);
  const auto end_s = [&](size_t rank, size_t iteration) {
    return reports[rank].at("iterations").at(iteration).at("end_s").get<double>();
  };
  double previous_s = 0;
  for (size_t i = 0; i < static_cast<size_t>(request.jobs.front().iterations); ++i) {
    json ranks = json::array();
    double last_s = 0;
    for (size_t rank = 0; rank < workers; ++rank) {
      json entry = reports[rank].at("iterations").at(i);
      entry["period_s"] = end_s(rank, i) - (i == 0 ? 0 : end_s(rank, i - 1));
      last_s = std::max(last_s, end_s(rank, i));
      ranks.push_back(std::move(entry));
    }
    answer["iterations"].push_back({{"time_s", last_s - previous_s}, {"ranks", std::move(ranks)}});
    previous_s = last_s;
  }
  for (const char* sum : {"messages", "payload_bytes", "control_bytes"}) {
    std::int64_t total = 0;
    for (const json& report : reports) total += report.at(sum).get<std::int64_t>();
    answer[sum] = total;
  }
  double finished_s = 0;
  for (const json& report : reports)
    finished_s = std::max(finished_s, report.at("finished_s").get<double>());
  answer["finished_s"] = finished_s;
  return answer;
}

// Each pair of ranks exchanges a byte: MPI opens its connections when they are first used.
void connect_all(const Patience& patience) {
  const auto ranks = static_cast<size_t>(size_of(MPI_COMM_WORLD));
  const std::vector<char> out(ranks);
  std::vector<char> in(ranks);
  std::vector<MPI_Request> requests(2 * ranks, MPI_REQUEST_NULL);
  constexpr int kTag = 1;
  for (size_t peer = 0; peer < ranks; ++peer) {
    const int rank = static_cast<int>(peer);
    MPI_Irecv(&in[peer], 1, MPI_CHAR, rank, kTag, MPI_COMM_WORLD, &requests[2 * peer]);
    MPI_Isend(&out[peer], 1, MPI_CHAR, rank, kTag, MPI_COMM_WORLD, &requests[2 * peer + 1]);
  }
  for (MPI_Request& request : requests) finish(request, patience);
}

// Checks what only the running program knows.
ScheduleRequest read_schedule_request(const JsonInput& in) {
  ScheduleRequest request = schedule_request_from_json(in);
  if (static_cast<int>(request.jobs.size()) != size_of(MPI_COMM_WORLD))
    in.at("jobs").fail(fmt::format("must have one entry for each of the {} ranks of this run",
                                   size_of(MPI_COMM_WORLD)));
  if (request.compute == Compute::kGemm && !GemmPiece::is_available())
    in.at("compute").fail("needs OpenBLAS, which this program was built without");
  int threads = 0;
  MPI_Query_thread(&threads);
  if (threads < MPI_THREAD_SERIALIZED)
    in.at("schedule").fail("needs an MPI that several threads may call in turn");
  return request;
}

}  // namespace

void run_schedule(const JsonInput& request_text, TaskSettings& settings) {
  const ScheduleRequest request = read_schedule_request(request_text);
  const Schedule& schedule = Registry<Schedule>::find(request.schedule, "request");
  MpiRank rank(request, settings.patience, settings.channels);
  connect_all(settings.patience);
  constexpr double kDelay_s = 20e-3;
  rank.set_start(StartTogether(MPI_COMM_WORLD, settings.patience).agree_start(kDelay_s));
  {
    const std::lock_guard<RankLock> guard(rank.lock());
    MpiWorker worker(rank, "main thread");
    try {
      schedule.run(worker, request.jobs[static_cast<size_t>(rank.rank())]);
    } catch (const InputError& error) {
      rank.give_up(2, error.what());  // the others have begun
    }
  }
  const double finished_s = rank.now_s();
  rank.finish();
  std::vector<json> reports;
  for (const std::string& text : gather(report_of(rank, finished_s).dump(), settings.patience))
    reports.push_back(parse_json(text));
  if (rank.rank() == 0) settings.answer.write(answer_of(request, reports));
}

}  // namespace forescale
