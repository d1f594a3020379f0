// Paje traces ("Paje trace file", Schnorr 2013), as pj_dump and ViTE read them: definitions of the
// events, then one event a line in order of time.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "traces/timeline/sub_tracks.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {
namespace {

enum Code {
  kDefineContainer,
  kDefineVariable,
  kDefineState,
  kDefineLink,
  kCreate,
  kDestroy,
  kSetVariable,
  kPush,
  kPop,
  kStartLink,
  kEndLink
};

struct EventDefinition {
  const char* name;
  std::vector<const char*> fields;  // name and type
};

const std::vector<EventDefinition>& definitions() {
  static const std::vector<EventDefinition> all{
      {"PajeDefineContainerType", {"Alias string", "Type string", "Name string"}},
      {"PajeDefineVariableType", {"Alias string", "Type string", "Name string", "Color color"}},
      {"PajeDefineStateType", {"Alias string", "Type string", "Name string"}},
      {"PajeDefineLinkType",
       {"Alias string", "Type string", "StartContainerType string", "EndContainerType string",
        "Name string"}},
      {"PajeCreateContainer",
       {"Time date", "Alias string", "Type string", "Container string", "Name string"}},
      {"PajeDestroyContainer", {"Time date", "Type string", "Name string"}},
      {"PajeSetVariable", {"Time date", "Type string", "Container string", "Value double"}},
      {"PajePushState", {"Time date", "Type string", "Container string", "Value string"}},
      {"PajePopState", {"Time date", "Type string", "Container string"}},
      {"PajeStartLink",
       {"Time date", "Type string", "Container string", "Value string", "StartContainer string",
        "Key string"}},
      {"PajeEndLink",
       {"Time date", "Type string", "Container string", "Value string", "EndContainer string",
        "Key string"}}};
  return all;
}

std::string paje_quoted(const std::string& text) {
  std::string plain = text;
  for (char& c : plain) {
    if (c == '"') c = '\'';
    if (c == '\n' || c == '\r') c = ' ';
  }
  return "\"" + plain + "\"";
}

class Writer {
 public:
  Writer(const Timeline& timeline, const std::vector<RankPlace>& places,
         const LinkUse::Curves& links, std::ostream& out)
      : timeline_(timeline),
        places_(places),
        links_(links),
        out_(out),
        sub_tracks_(sub_tracks(timeline.spans())) {
    begin_s_ = links.links.empty() ? 0 : links.begin_s;
    for (const Span& span : timeline.spans()) begin_s_ = std::min(begin_s_, span.begin_s);
    end_s_ = links.end_s;
    for (const Span& span : timeline.spans()) end_s_ = std::max(end_s_, span.end_s);
  }

  void write() {
    define();
    create_containers();
    add_states();
    add_messages();
    add_variables();
    // What ends comes before what begins at that time.
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return a.time_s != b.time_s ? a.time_s < b.time_s : a.begins < b.begins;
    });
    for (const Event& event : events_) out_ << event.text;
    fmt::print(out_, "{} {:.9f} platform root\n", static_cast<int>(kDestroy), end_s_);
  }

 private:
  struct Event {
    double time_s;
    bool begins;
    std::string text;
  };

  void define() {
    for (size_t code = 0; code < definitions().size(); ++code) {
      fmt::print(out_, "%EventDef {} {}\n", definitions()[code].name, code);
      for (const char* field : definitions()[code].fields) fmt::print(out_, "% {}\n", field);
      out_ << "%EndEventDef\n";
    }
    for (const auto& [alias, parent, name] :
         {std::tuple("platform", "0", "platform"), std::tuple("node", "platform", "node"),
          std::tuple("rank", "node", "rank"), std::tuple("track", "rank", "track"),
          std::tuple("link", "platform", "link")})
      fmt::print(out_, "{} {} {} {}\n", static_cast<int>(kDefineContainer), alias, parent, name);
    fmt::print(out_, "{} used link \"share of bandwidth\" \"0 0.5 1\"\n",
               static_cast<int>(kDefineVariable));
    fmt::print(out_, "{} state track state\n", static_cast<int>(kDefineState));
    fmt::print(out_, "{} message platform track track message\n", static_cast<int>(kDefineLink));
  }

  void create(const std::string& alias, const char* type, const std::string& parent,
              const std::string& name) {
    if (created_.insert(alias).second)
      fmt::print(out_, "{} {:.9f} {} {} {} {}\n", static_cast<int>(kCreate), begin_s_, alias, type,
                 parent, paje_quoted(name));
  }

  std::string track_of(size_t span) const {
    const Span& at = timeline_.spans()[span];
    return fmt::format("t{}_{}_{}", at.rank, static_cast<int>(at.track), sub_tracks_[span]);
  }

  void create_containers() {
    create("root", "platform", "0", "platform");
    for (size_t i = 0; i < timeline_.spans().size(); ++i) {
      const Span& span = timeline_.spans()[i];
      const RankPlace& place = places_.at(static_cast<size_t>(span.rank));
      const std::string node = fmt::format("n{}", place.node);
      const std::string rank = fmt::format("r{}", span.rank);
      create(node, "node", "root", place.node_name);
      create(rank, "rank", node, place.rank_name);
      const std::string number = sub_tracks_[i] == 0 ? "" : fmt::format(" {}", sub_tracks_[i] + 1);
      create(track_of(i), "track", rank, place.rank_name + " " + name_of(span.track) + number);
    }
    for (size_t i = 0; i < links_.links.size(); ++i)
      create(fmt::format("l{}", i), "link", "root", links_.links[i].link);
  }

  void add(double time_s, bool begins, std::string text) {
    events_.push_back({time_s, begins, std::move(text)});
  }

  void add_states() {
    const std::vector<Span>& spans = timeline_.spans();
    for (size_t i = 0; i < spans.size(); ++i) {
      if (!(spans[i].end_s > spans[i].begin_s)) continue;
      add(spans[i].begin_s, true,
          fmt::format("{} {:.9f} state {} {}\n", static_cast<int>(kPush), spans[i].begin_s,
                      track_of(i),
                      paje_quoted(timeline_.labels()[static_cast<size_t>(spans[i].label)])));
      add(spans[i].end_s, false,
          fmt::format("{} {:.9f} state {}\n", static_cast<int>(kPop), spans[i].end_s, track_of(i)));
    }
  }

  // A send is followed by its receive.
  void add_messages() {
    const std::vector<Span>& spans = timeline_.spans();
    for (size_t i = 0; i + 1 < spans.size(); ++i) {
      const bool is_pair = spans[i].track == Track::kSend &&
                           spans[i + 1].track == Track::kReceive &&
                           spans[i + 1].rank == spans[i].peer;
      if (!is_pair) continue;
      const std::string label =
          paje_quoted(timeline_.labels()[static_cast<size_t>(spans[i].label)]);
      add(spans[i].begin_s, true,
          fmt::format("{} {:.9f} message root {} {} m{}\n", static_cast<int>(kStartLink),
                      spans[i].begin_s, label, track_of(i), i));
      add(spans[i + 1].end_s, false,
          fmt::format("{} {:.9f} message root {} {} m{}\n", static_cast<int>(kEndLink),
                      spans[i + 1].end_s, label, track_of(i + 1), i));
    }
  }

  void add_variables() {
    for (size_t link = 0; link < links_.links.size(); ++link) {
      const std::vector<double>& shares = links_.links[link].shares;
      const double width_s = (links_.end_s - links_.begin_s) / static_cast<double>(shares.size());
      for (size_t i = 0; i <= shares.size(); ++i) {
        const double time_s = links_.begin_s + static_cast<double>(i) * width_s;
        add(time_s, true,
            fmt::format("{} {:.9f} used l{} {:.6f}\n", static_cast<int>(kSetVariable), time_s, link,
                        i < shares.size() ? shares[i] : 0.0));
      }
    }
  }

  const Timeline& timeline_;
  const std::vector<RankPlace>& places_;
  const LinkUse::Curves& links_;
  std::ostream& out_;
  std::vector<int> sub_tracks_;
  double begin_s_ = 0;
  double end_s_ = 0;
  std::set<std::string> created_;
  std::vector<Event> events_;
};

}  // namespace

void write_paje(const Timeline& timeline, const std::vector<RankPlace>& places, std::ostream& out,
                const LinkUse::Curves& links) {
  Writer(timeline, places, links, out).write();
}

}  // namespace forescale
