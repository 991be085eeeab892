// SPDX-License-Identifier: Apache-2.0
#include "tests/server/identity/authority.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/file/replace.h"

namespace vitrine::testing {

Authority::Authority() {
  Write("empty.cnf", "[req]\ndistinguished_name=dn\n[dn]\n[ca]\nbasicConstraints=critical,CA:TRUE\n");
  Run(absl::StrCat("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca -config ",
                   Path("empty.cnf"), " -extensions ca -keyout ", Path("ca.key"), " -out ", Path("ca.pem")));
  Write("index.txt", "");
}

void Authority::Write(const std::string& name, const std::string& bytes) const {
  struct stat before = {};
  const mode_t mode = stat(Path(name).c_str(), &before) == 0 ? before.st_mode & ACCESSPERMS : 0644;
  EXPECT_EQ(ReplaceFile(Path(name), bytes, mode), absl::OkStatus());
}

void Authority::Run(const std::string& arguments) const {
  const std::string command = absl::StrCat("openssl ", arguments, " 2>", Path("openssl.log"));
  EXPECT_EQ(std::system(command.c_str()), 0) << command << "\n" << Read("openssl.log");
}

void Authority::Issue(const std::string& name, const std::string& names, const std::string& usage, int days,
                      const std::string& issuer) const {
  Sign(name,
       absl::StrCat("basicConstraints=CA:FALSE\nextendedKeyUsage=", usage, "\n",
                    names.empty() ? "" : absl::StrCat("subjectAltName=", names, "\n")),
       days, issuer);
}

void Authority::IssueAuthority(const std::string& name, int days) const {
  Sign(name, "basicConstraints=critical,CA:TRUE\n", days, "ca");
}

// Uses `openssl ca`, which accepts dates in the past. `openssl x509` of OpenSSL 3.0 does not accept them.
void Authority::Sign(const std::string& name, const std::string& extensions, int days,
                     const std::string& issuer) const {
  const absl::Time now = absl::Now();
  const auto text = [](absl::Time time) { return absl::FormatTime("%Y%m%d%H%M%SZ", time, absl::UTCTimeZone()); };
  const absl::Time end = now + days * absl::Hours(24);
  Write("ca.cnf",
        absl::StrCat("[ca]\ndefault_ca=it\n[it]\ndatabase=", Path("index.txt"), "\nnew_certs_dir=", Path(""),
                     "\nrand_serial=yes\ndefault_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n"
                     "[extensions]\n",
                     extensions));
  Run(absl::StrCat("req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=", name, " -config ",
                   Path("empty.cnf"), " -keyout ", Path(name + ".key"), " -out ", Path(name + ".csr")));
  Run(absl::StrCat("ca -batch -notext -config ", Path("ca.cnf"), " -extensions extensions -cert ",
                   Path(issuer + ".pem"), " -keyfile ", Path(issuer + ".key"), " -startdate ",
                   text(std::min(now, end) - absl::Hours(1)), " -enddate ", text(end), " -in ", Path(name + ".csr"),
                   " -out ", Path(name + ".pem")));
  chmod(Path(name + ".key").c_str(), S_IRUSR | S_IWUSR);
}

}  // namespace vitrine::testing
