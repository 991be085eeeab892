// SPDX-License-Identifier: Apache-2.0
#include "client/lib/connect/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

TEST(ParseAddress, AcceptsHostsNamesListsAndSockets) {
  EXPECT_EQ(ParseAddress("gpu-box:8500")->uri, "gpu-box:8500");
  EXPECT_FALSE(ParseAddress("gpu-box:8500")->balanced);
  EXPECT_EQ(ParseAddress("[::1]:8500")->uri, "[::1]:8500");
  EXPECT_TRUE(ParseAddress("dns:///vitrine.default.svc:8500")->balanced);
  EXPECT_TRUE(ParseAddress("dns://10.0.0.10/vitrine:8500")->balanced);
  EXPECT_THAT(ParseAddress("a:1,b:2")->hosts, ElementsAre("a:1", "b:2"));
  EXPECT_TRUE(ParseAddress("a:1,b:2")->balanced);
  EXPECT_TRUE(ParseAddress("a:1")->hosts.empty()) << "a single host must be passed to gRPC as it is";
  EXPECT_FALSE(ParseAddress("ipv4:10.0.0.1:1")->balanced);
  EXPECT_TRUE(ParseAddress("ipv4:10.0.0.1:1,10.0.0.2:1")->balanced);
  EXPECT_EQ(ParseAddress("ipv4:10.0.0.1:1,10.0.0.2:1")->uri, "ipv4:10.0.0.1:1,10.0.0.2:1");
  EXPECT_EQ(ParseAddress("ipv6:[::1]:1")->uri, "ipv6:[::1]:1");
  EXPECT_EQ(ParseAddress("unix:/run/vitrine.sock")->uri, "unix:/run/vitrine.sock");
}

TEST(ParseAddress, RecognizesAddressesOfThisMachine) {
  for (const char* local : {"localhost:1", "127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "unix:x", "unix-abstract:x",
                            "localhost:1,127.0.0.1:2", "ipv4:127.0.0.1:1", "dns:///localhost:1"}) {
    EXPECT_TRUE(ParseAddress(local)->local) << local;
  }
  for (const char* far :
       {"gpu-box:1", "10.0.0.1:1", "127.example.org:1", "localhost.example.org:1", "[::2]:1", "localhost:1,gpu-box:1",
        "ipv4:127.0.0.1:1,10.0.0.1:1", "dns://127.0.0.1/gpu-box:1", "dns://10.0.0.10/localhost:1"}) {
    EXPECT_FALSE(ParseAddress(far)->local) << far;
  }
}

TEST(ParseAddress, DescribesTheFault) {
  for (const char* wrong : {"", "gpu-box", "gpu-box:", ":8500", "gpu-box:0", "gpu-box:65536", "gpu-box:http",
                            "::1:8500", "[::1]", "http://gpu-box:8500", "a:1,", "a:1,b", "dns:///name",
                            "dns:", "unix:", "a:1,unix:b", "ipv4:1.2.3.4", "gpu-box:8500/path", "gpu-box/path:8500"}) {
    const absl::Status status = ParseAddress(wrong).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(status.message(), HasSubstr("address")) << wrong;
  }
  EXPECT_EQ(ParseAddress("gpu-box").status().message(),
            "the server's address \"gpu-box\" has no port; give host:port, as in gpu-box:8500 or [::1]:8500");
  EXPECT_THAT(std::string(ParseAddress("http://gpu-box:8500").status().message()),
              EndsWith("is a URL; give its host and port, as in gpu-box:8500"));
  EXPECT_THAT(std::string(ParseAddress("https://gpu-box/v1").status().message()),
              EndsWith("is a URL; give its host and port, as in gpu-box:8500, and TLS (--tls)"));
  EXPECT_THAT(std::string(ParseAddress("a:1,http://[::1]:2/").status().message()),
              EndsWith("\"http://[::1]:2/\" is a URL; give its host and port, as in [::1]:2"));
  for (const char* fine : {"gpu-box:1", "gpu-box:65535", "[::1]:65535", "unix-abstract:x"}) {
    EXPECT_TRUE(ParseAddress(fine).ok()) << fine;
  }
  EXPECT_FALSE(ParseAddress("unix-abstract:").ok());
  for (const char* scheme : {"unix:", "unix-abstract:"}) {
    EXPECT_TRUE(ParseAddress(scheme + std::string(107, 'x')).ok());
    EXPECT_FALSE(ParseAddress(scheme + std::string(108, 'x')).ok());
  }
  EXPECT_THAT(ParseAddress("unix:" + std::string(108, 'x')).status().message(), HasSubstr("the maximum is 107"));
}

TEST(ParseAddress, ReturnsTheHostIfThereIsOnlyOne) {
  for (const char* one : {"gpu-box:1", "dns:///gpu-box:1", "dns:gpu-box:1"}) {
    EXPECT_EQ(ParseAddress(one)->host, "gpu-box") << one;
  }
  EXPECT_EQ(ParseAddress("[2001:db8::1]:1")->host, "2001:db8::1");
  for (const char* other : {"a:1,b:1", "ipv4:1.2.3.4:1,1.2.3.5:1", "unix:x"}) {
    EXPECT_EQ(ParseAddress(other)->host, "") << other;
  }
}

TEST(ResolveHosts, LeavesOutHostsWithoutAnAddressIfOthersHaveOne) {
  EXPECT_EQ(*ResolveHosts({"127.0.0.1:1", "nowhere.invalid:1"}, /*partly=*/true), "ipv4:127.0.0.1:1");
  EXPECT_FALSE(ResolveHosts({"127.0.0.1:1", "nowhere.invalid:1"}).ok());
  EXPECT_FALSE(ResolveHosts({"nowhere.invalid:1"}, /*partly=*/true).ok());
}

TEST(ResolveHosts, ReturnsAddressesOfOneFamilyWithoutDuplicates) {
  EXPECT_EQ(*ResolveHosts({"127.0.0.1:2", "127.0.0.1:1", "127.0.0.1:2"}), "ipv4:127.0.0.1:1,127.0.0.1:2");
  EXPECT_EQ(*ResolveHosts({"[::1]:2", "127.0.0.1:1"}), "ipv6:[::1]:2,[::ffff:127.0.0.1]:1");
}

}  // namespace
}  // namespace vitrine
