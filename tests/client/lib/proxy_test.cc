// SPDX-License-Identifier: Apache-2.0
#include "client/lib/connect/proxy.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/lib/client.h"
#include "tests/client/environment.h"

namespace vitrine {
namespace {

struct Exception {
  const char* host;
  const char* no_proxy;
  bool excepted;
};

TEST(IsExcepted, FollowsTheRulesOfCurl) {
  for (const Exception& each : {
           Exception{"gpu-box", "", false},
           {"gpu-box", "gpu-box", true},
           {"GPU-box.", "gpu-BOX", true},
           {"gpu-box", "box", false},
           {"a.example.org", "example.org", true},
           {"a.example.org", ".example.org", true},
           {"example.org", ".example.org", true},
           {"notexample.org", "example.org", false},
           {"a.example.org", "b.test, example.org", true},
           {"a.example.org", "b.test example.org", true},
           {"a.example.org", "*", true},
           {"gpu-box", "gpu-box:8500", false},
           {"10.1.2.3", "10.1.2.3:8500", false},
           {"10.1.2.3", "10.0.0.0/8", true},
           {"11.1.2.3", "10.0.0.0/8", false},
           {"10.1.2.3", "10.1.2.0/23", true},
           {"10.1.4.3", "10.1.2.0/23", false},
           {"10.1.2.3", "0.0.0.0/0", true},
           {"10.1.2.3", "10.1.2.3", true},
           {"10.1.2.3", "2.3", false},
           {"gpu-box", "10.0.0.0/8", false},
           {"10.1.2.3", "10.0.0.0/99,10.0.0.0/,x", false},
           {"2001:db8::1", "2001:db8::/32", true},
           {"2001:db8::1", "[2001:db8:0::1]", true},
           {"2001:db9::1", "2001:db8::/32", false},
           {"10.1.2.3", "2001:db8::/0", false},
       }) {
    EXPECT_EQ(IsExcepted(each.host, each.no_proxy), each.excepted) << each.host << " with no_proxy=" << each.no_proxy;
  }
}

class ProxyTest : public testing::Test {
 private:
  const Environment none_{{{"grpc_proxy", nullptr},
                           {"https_proxy", nullptr},
                           {"http_proxy", nullptr},
                           {"no_grpc_proxy", nullptr},
                           {"no_proxy", nullptr},
                           {"NO_PROXY", nullptr}}};
};

// Returns the name of the proxy that requests to `host` use; "" if they use no proxy. If ProxyOf fails, returns its
// error message.
std::string NameOfProxy(const std::string& host) {
  const absl::StatusOr<std::optional<Proxy>> proxy = ProxyOf(host);
  if (!proxy.ok()) return std::string(proxy.status().message());
  return proxy->has_value() ? (*proxy)->name : "";
}

TEST_F(ProxyTest, IsTheFirstVariableThatIsSet) {
  EXPECT_EQ(NameOfProxy("h"), "");
  const Environment proxy("http_proxy", "http://user:secret@proxy.test:3128/");
  EXPECT_EQ(NameOfProxy("h"), "proxy.test:3128 of $http_proxy");
  EXPECT_EQ((*ProxyOf("h"))->url, "http://user:secret@proxy.test:3128/");
  {
    const Environment empty("https_proxy", "");
    EXPECT_EQ(NameOfProxy("h"), "") << "an empty variable must mean no proxy";
  }
  const Environment exception("NO_PROXY", "h");
  EXPECT_EQ(NameOfProxy("h"), "");
  EXPECT_NE(NameOfProxy("g"), "");
}

TEST_F(ProxyTest, MayHaveNoSchemeLikeForCurl) {
  for (const char* value : {"proxy.test:1", " HTTP://proxy.test:1 "}) {
    const Environment proxy("http_proxy", value);
    EXPECT_EQ(NameOfProxy("h"), "proxy.test:1 of $http_proxy") << value;
    EXPECT_EQ((*ProxyOf("h"))->url, "http://proxy.test:1") << value;
  }
}

TEST_F(ProxyTest, AnotherKindOfProxyIsRefusedAndNotBypassed) {
  for (const char* scheme : {"socks5", "https", "ftp"}) {
    const Environment proxy("https_proxy", (scheme + std::string("://user:secret@127.0.0.1:9/")).c_str());
    const absl::Status refused = absl::InvalidArgumentError(
        absl::StrCat("https_proxy=", scheme,
                     "://127.0.0.1:9: only http:// proxies are supported; unset it or add the server to no_proxy"));
    EXPECT_EQ(ProxyOf("h").status(), refused);
    EXPECT_EQ(Client::Connect({.address = "gpu-box.test:8500"}).status(), refused);
    EXPECT_EQ(Client::Connect({.address = "127.0.0.1:9"}).status().message(), "no server answers at 127.0.0.1:9");
    const Environment exception("no_proxy", "h");
    EXPECT_EQ(NameOfProxy("h"), "");
  }
  {
    const Environment nobody("http_proxy", "http://user:secret@");
    EXPECT_EQ(NameOfProxy("h"), "$http_proxy names no proxy; unset it");
  }
  {
    const Environment query("http_proxy", "http://user:secret@proxy.test:1/?x=http://y");
    EXPECT_EQ(NameOfProxy("h"), "proxy.test:1 of $http_proxy");
  }
  const Environment unescaped("http_proxy", "http://user:se@cret@proxy.test:1");
  EXPECT_EQ(NameOfProxy("h"), "the user name or password in $http_proxy has an @; write it as %40");
}

TEST_F(ProxyTest, IsNamedIfNoServerAnswers) {
  const Environment proxy("http_proxy", "http://user:secret@127.0.0.1:9");
  const absl::Status refused = Client::Connect({.address = "gpu-box.test:8500"}).status();
  EXPECT_EQ(refused.message(),
            "no server answers at gpu-box.test:8500 through the proxy 127.0.0.1:9 of $http_proxy; with "
            "no_proxy=gpu-box.test the connection is direct");
  {
    const Environment schemeless("http_proxy", "127.0.0.1:9");
    EXPECT_EQ(Client::Connect({.address = "gpu-box.test:8500"}).status(), refused)
        << "a proxy without a scheme must be used, like by curl";
  }
  const Environment exception("no_proxy", "127.0.0.0/8,10.0.0.0/8");
  EXPECT_EQ(Client::Connect({.address = "127.0.0.1:9"}).status().message(), "no server answers at 127.0.0.1:9");
}

}  // namespace
}  // namespace vitrine
