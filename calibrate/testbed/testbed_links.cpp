// Everything that the first message would otherwise pay for is set beforehand: neighbours (no ARP)
// and the switches' address tables (no flooding).
#include "calibrate/testbed/testbed_links.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibrate/testbed/testbed_process.hpp"
#include "calibrate/testbed/testbed_state.hpp"

namespace forescale {
namespace {

// Bytes. Larger segments would leave the shaper in bursts, or be cut up again by the processor.
constexpr int kMtu = 9000;

std::string hardware_address(int host) { return fmt::format("02:00:00:00:00:{:02x}", host + 1); }

void batch(const std::string& program, const std::string& in, const std::string& lines) {
  if (!lines.empty()) run_command({program, "-n", in, "-batch", "-"}, lines);
}

// Burst: 160 us at 500 Mbit/s. Limit: more than TCP keeps in flight, so that nothing is dropped.
std::string shaper(const std::string& device, BytesPerSecond rate) {
  return fmt::format("qdisc add dev {} root tbf rate {:.0f}bit burst 10kb limit 4mb\n", device,
                     std::round(rate.value * 8));
}

std::string link_up(const std::string& device, const std::string& more = "") {
  return fmt::format("link set {} mtu {} gso_max_size {} {} up\n", device, kMtu, kMtu, more);
}

void set_kernel_parameter(const std::string& name, const std::string& value) {
  const std::string file = "/proc/sys/net/" + name;
  std::ofstream out(file);
  out << value << "\n";
  out.close();
  if (!out) throw TestbedError("writing \"" + value + "\" to " + file, "the kernel refuses");
}

void without_ipv6(const std::string& in) {
  in_namespace(in, [] {
    if (!std::filesystem::exists("/proc/sys/net/ipv6")) return;
    set_kernel_parameter("ipv6/conf/all/disable_ipv6", "1");
    set_kernel_parameter("ipv6/conf/default/disable_ipv6", "1");
  });
}

void make_namespace(const std::string& name) {
  run_command({"ip", "netns", "add", name});
  without_ipv6(name);
}

void write_names(const TestbedSpec& spec, const std::string& network) {
  std::string names = "127.0.0.1 localhost\n";
  for (int host = 0; host < spec.hosts; ++host)
    names += fmt::format("{} {}\n", testbed_address(network, host), testbed_host(spec.name, host));
  for (int host = 0; host < spec.hosts; ++host) {
    const std::filesystem::path folder = "/etc/netns/" + testbed_host(spec.name, host);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "hosts") << names;
  }
}

void make_switch(const TestbedSpec& spec, const TestbedNetwork& network, int number) {
  const std::string in = testbed_switch(spec.name, number);
  std::string links = "link add br0 type bridge stp_state 0 mcast_snooping 0\n" + link_up("br0");
  std::string shapers;
  std::string addresses;
  if (network.trunk_rate.value > 0) {
    links += link_up("trunk", "master br0");
    shapers += shaper("trunk", network.trunk_rate);
  }
  for (int host = 0; host < spec.hosts; ++host) {
    const bool is_here = network.host_switch[static_cast<size_t>(host)] == number;
    const std::string port = is_here ? fmt::format("p{}", host) : "trunk";
    addresses += fmt::format("fdb replace {} dev {} master static\n", hardware_address(host), port);
    if (!is_here) continue;
    links += link_up(port, "master br0");
    shapers += shaper(port, network.host_rate[static_cast<size_t>(host)]);
  }
  batch("ip", in, links);
  batch("tc", in, shapers);
  batch("bridge", in, addresses);
}

void make_host(const TestbedSpec& spec, const std::string& addresses, BytesPerSecond rate,
               int host) {
  const std::string in = testbed_host(spec.name, host);
  std::string lines = "link set lo up\n" + link_up("eth0") +
                      fmt::format("addr add {}/24 dev eth0\n", testbed_address(addresses, host));
  for (int other = 0; other < spec.hosts; ++other)
    if (other != host)
      lines += fmt::format("neigh replace {} lladdr {} dev eth0 nud permanent\n",
                           testbed_address(addresses, other), hardware_address(other));
  batch("ip", in, lines);
  batch("tc", in, shaper("eth0", rate));
  in_namespace(in, [] {
    // A connection keeps its window between messages, and a new one learns nothing from the last.
    set_kernel_parameter("ipv4/tcp_slow_start_after_idle", "0");
    set_kernel_parameter("ipv4/tcp_no_metrics_save", "1");
    // At most 256 KiB wait in a sender, so that a completed send has left but for about 4 ms at 500
    // Mbit/s. It costs nothing: 62.1 MB/s in a ping-pong of 4 MiB with this limit and with 4 MiB.
    set_kernel_parameter("ipv4/tcp_wmem", "4096 65536 262144");
    // With the default of 4 MB a send is complete while nearly all of it waits here, and the next
    // one shares the cable with it: a binomial broadcast took up to 1.6 times as long.
    set_kernel_parameter("ipv4/tcp_wmem", "4096 65536 131072");
    // What one connection may have in the shaper's queue: control messages of the others wait
    // behind it, 10 ms for 128 kB on a slow cable.
    set_kernel_parameter("ipv4/tcp_limit_output_bytes", "32768");
  });
}

}  // namespace

void make_testbed_network(const TestbedSpec& spec, const std::string& network) {
  const TestbedNetwork numbers = testbed_network(spec);
  const int switch_count = numbers.trunk_rate.value > 0 ? 2 : 1;
  for (int i = 0; i < switch_count; ++i) make_namespace(testbed_switch(spec.name, i));
  for (int i = 0; i < spec.hosts; ++i) make_namespace(testbed_host(spec.name, i));
  write_names(spec, network);
  std::string cables;
  for (int host = 0; host < spec.hosts; ++host)
    cables +=
        fmt::format("link add eth0 address {} netns {} type veth peer name p{} netns {}\n",
                    hardware_address(host), testbed_host(spec.name, host), host,
                    testbed_switch(spec.name, numbers.host_switch[static_cast<size_t>(host)]));
  if (switch_count == 2)
    cables += fmt::format("link add trunk netns {} type veth peer name trunk netns {}\n",
                          testbed_switch(spec.name, 0), testbed_switch(spec.name, 1));
  run_command({"ip", "-batch", "-"}, cables);
  for (int i = 0; i < switch_count; ++i) make_switch(spec, numbers, i);
  for (int host = 0; host < spec.hosts; ++host)
    make_host(spec, network, numbers.host_rate[static_cast<size_t>(host)], host);
}

}  // namespace forescale
