// `forescale testbed`: a cluster on one machine.
#include "calibrate/testbed/testbed.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "calibrate/testbed/testbed_process.hpp"
#include "calibrate/testbed/testbed_state.hpp"
#include "cli/catalogue/catalogue.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct TestbedOptions {
  TestbedSpec spec;
  std::string rate = "500mbit";
  bool all = false;
  int ranks = 0;        // 0: one a host
  int host = -1;        // -1: MPI
  std::string library;  // empty: Open MPI
  std::vector<std::string> command;
  OutputOptions output;
};

std::string rate_text(BytesPerSecond rate) {
  return fmt::format("{:.4g} Mbit/s", rate.value * 8 / 1e6);
}

std::string rate_cell(const json& value) { return rate_text({value.get<double>()}); }

json summary(const TestbedState& state) {
  return {{"name", state.spec.name},
          {"hosts", state.spec.hosts},
          {"rate_bytes_per_s", state.spec.rate.value},
          {"topology", state.spec.topology},
          {"mpi_as_shipped", state.spec.mpi_as_shipped},
          {"network", state.network + ".0/24"},
          {"ends_with_process", state.owner ? json(state.owner->pid) : json()}};
}

json to_json(const TestbedState& state) {
  const TestbedNetwork network = testbed_network(state.spec);
  json document = summary(state);
  document["trunk_bytes_per_s"] =
      network.trunk_rate.value > 0 ? json(network.trunk_rate.value) : json();
  document["links"] = json::array();
  for (int host = 0; host < state.spec.hosts; ++host) {
    const auto index = static_cast<size_t>(host);
    document["links"].push_back({{"host", host},
                                 {"namespace", testbed_host(state.spec.name, host)},
                                 {"address", testbed_address(state.network, host)},
                                 {"switch", network.host_switch[index]},
                                 {"rate_bytes_per_s", network.host_rate[index].value}});
  }
  return document;
}

TestbedState state_of(const std::string& name) {
  Testbed::find(name, "--name");
  return load_testbed_state(name).value();
}

// As an option of the other verbs, for examples that can be pasted.
std::string name_option(const std::string& name) {
  return name == TestbedSpec{}.name ? "" : " --name " + name;
}

void up(TestbedOptions options) {
  options.spec.rate = parse_rate(options.rate, "--rate");
  Testbed::up(options.spec);
  const TestbedState state = state_of(options.spec.name);
  const std::string name = name_option(options.spec.name);
  fmt::print(
      "{}: {} hosts at {} each way, {}, addresses {}.1 to {}\n"
      "run a command on one host:   forescale testbed run{} --host 0 -- ip addr\n"
      "run MPI, one rank a host:    forescale testbed run{} -- ./program\n"
      "see it, take it down again:  forescale testbed show{};  forescale testbed down{}\n",
      options.spec.name, options.spec.hosts, rate_text(options.spec.rate), options.spec.topology,
      state.network, testbed_address(state.network, options.spec.hosts - 1), name, name, name,
      name);
}

void down(const TestbedOptions& options) {
  std::vector<std::string> names{options.spec.name};
  if (options.all)
    names = Testbed::all();
  else if (!has_testbed_parts(options.spec.name))
    Testbed::find(options.spec.name, "--name");
  for (const std::string& name : names) {
    Testbed::down(name);
    fmt::print("{}: taken down\n", name);
  }
}

void list(const TestbedOptions& options) {
  json rows = json::array();
  Problems problems;
  for (const std::string& name : Testbed::all())
    problems.attempt([&] {
      if (const auto state = load_testbed_state(name)) rows.push_back(summary(*state));
    });
  if (rows.empty() && !options.output.json && !options.output.csv)
    fmt::print("no testbed is up; make one: forescale testbed up\n");
  else
    print_rows(rows,
               {{.key = "name", .heading = "<testbed"},
                {.key = "hosts", .heading = "hosts"},
                {.key = "rate_bytes_per_s", .heading = "rate", .text = rate_cell},
                {.key = "topology", .heading = "<topology"},
                {.key = "network", .heading = "<network"},
                {.key = "ends_with_process", .heading = "ends with process"}},
               options.output);
  problems.raise("testbed list");
}

void show(const TestbedOptions& options) {
  const json document = to_json(state_of(options.spec.name));
  if (options.output.json) {
    fmt::print("{}\n", document.dump(2));
    return;
  }
  fmt::print("{}: {} hosts, {}\n", options.spec.name, document["hosts"].get<int>(),
             document["topology"].get<std::string>());
  if (!document["trunk_bytes_per_s"].is_null())
    fmt::print("trunk between the switches: {} each way\n",
               rate_cell(document["trunk_bytes_per_s"]));
  fmt::print("{}", table_text(document["links"],
                              {{.key = "host", .heading = "host"},
                               {.key = "namespace", .heading = "<namespace"},
                               {.key = "address", .heading = "<address"},
                               {.key = "switch", .heading = "switch"},
                               {.key = "rate_bytes_per_s", .heading = "rate", .text = rate_cell}}));
}

// A name on PATH or a path. Told here, because launchers say it in twenty lines.
void check_program(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos;
  if (is_path ? access(name.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(name)
              : !find_program(name).empty())
    return;
  throw InputError(
      {.source = "COMMAND",
       .path = "",
       .value = name,
       .constraint = is_path ? "must be a file that may be run"
                             : "is no program on PATH (one of this folder: ./" + name + ")"});
}

std::vector<std::string> launch(const Testbed& testbed, const TestbedOptions& options) {
  const int hosts = testbed.spec().hosts;
  if (options.host < 0)
    return testbed.mpi_command(options.library.empty() ? "openmpi" : options.library,
                               options.ranks > 0 ? options.ranks : hosts);
  std::string problem;
  if (options.host >= hosts) problem = fmt::format("must be 0 to {}", hosts - 1);
  if (options.ranks > 0 || !options.library.empty())
    problem = "runs without MPI: not together with --ranks or --mpi";
  if (!problem.empty())
    throw InputError({.source = "--host",
                      .path = "",
                      .value = fmt::format("{}", options.host),
                      .constraint = problem});
  return {find_program("ip"), "netns", "exec", testbed.host_namespace(options.host)};
}

// Becomes the command: its signals, its exit status.
void run(const TestbedOptions& options) {
  const Testbed testbed = Testbed::find(options.spec.name, "--name");
  check_program(options.command.front());
  std::vector<std::string> words = launch(testbed, options);
  words.insert(words.end(), options.command.begin(), options.command.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments.front(), arguments.data());
  throw TestbedError(words.front(), std::strerror(errno));
}

void add_name(Subcommand verb, TestbedOptions& options) {
  verb.add_option("--name", options.spec.name, "Which testbed").capture_default_str();
}

void add_up(Subcommand command, const std::shared_ptr<TestbedOptions>& options) {
  Subcommand verb =
      add_verb(command, {.name = "up",
                         .summary = "Make hosts with rate-limited links; needs root",
                         .examples = {"testbed up", "testbed up --hosts 4 --rate 1gbit --name fast",
                                      "testbed up --topology two-switches:trunk=300mbit",
                                      "testbed up --topology slow-host=3:100mbit,5:50mbit"}});
  add_name(verb, *options);
  verb.add_option("--hosts", options->spec.hosts, "Number of hosts, 1 to 64").capture_default_str();
  verb.add_option("--rate", options->rate, "Of every link, each way: 500mbit, 62.5MB/s")
      .capture_default_str();
  verb.add_option(
          "--topology", options->spec.topology,
          "star; two-switches:trunk=RATE: half of the hosts on each; slow-host=HOST:RATE,..")
      .capture_default_str();
  verb.add_flag("--mpi-as-shipped", options->spec.mpi_as_shipped,
                "Open MPI with its put protocol, which halves the rate of exchanges here (default: "
                "without)");
  verb.callback([options] { up(*options); });
}

void add_run(Subcommand command, const std::shared_ptr<TestbedOptions>& options) {
  Subcommand verb = add_verb(
      command, {.name = "run",
                .summary = "Run a command across the hosts with MPI, or on one of them",
                .examples = {"testbed run -- ./program                   # one rank a host",
                             "testbed run --ranks 4 --mpi mpich -- ./program 1MiB",
                             "testbed run --host 2 -- ip -s link show eth0"}});
  add_name(verb, *options);
  verb.add_option("--ranks", options->ranks,
                  "MPI ranks, round robin when more than hosts (default: one a host)")
      .positive();
  verb.add_option("--mpi", options->library,
                  "openmpi (default) or mpich: what the program was built with");
  verb.add_option("--host", options->host, "On this host only, without MPI").non_negative();
  verb.add_option("COMMAND", options->command, "After --: the program and its arguments")
      .required();
  verb.callback([options] { run(*options); });
}

void add_testbed(Subcommand app) {
  auto options = std::make_shared<TestbedOptions>();
  Subcommand command =
      add_catalogue_command(app, {.name = "testbed",
                                  .summary = "A cluster on this machine: up, run, down, list, show",
                                  .examples = {"testbed up --hosts 8 --rate 500mbit",
                                               "testbed run -- ./mpi-program", "testbed down"}});
  add_up(command, options);
  add_run(command, options);

  Subcommand verb = add_verb(command, {.name = "down",
                                       .summary = "End what runs in a testbed and remove it",
                                       .examples = {"testbed down", "testbed down --all"}});
  add_name(verb, *options);
  verb.add_flag("--all", options->all, "All testbeds of this machine");
  verb.callback([options] { down(*options); });

  verb = add_verb(
      command,
      {.name = "list", .summary = "Testbeds of this machine", .examples = {"testbed list --json"}});
  add_output_options(verb, options->output);
  verb.callback([options] { list(*options); });

  verb = add_verb(command, {.name = "show",
                            .summary = "Its hosts, their addresses and rates",
                            .examples = {"testbed show --name fast --json"}});
  add_name(verb, *options);
  verb.add_flag("--json", options->output.json, "Print JSON for machines");
  verb.callback([options] { show(*options); });
}

const bool kTestbedRegistered = Registry<Command>::add({.name = "testbed", .add = add_testbed});

}  // namespace
}  // namespace forescale
