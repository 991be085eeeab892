// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_IDENTITY_AUTHORITY_H_
#define VITRINE_TESTS_SERVER_IDENTITY_AUTHORITY_H_

#include <string>

#include "tests/scratch_folder.h"

namespace vitrine::testing {

// Certificates made by the program openssl, with real extensions: NAME.pem and NAME.key (mode 0600) in one folder.
class Authority {
 public:
  // An authority of its own: ca.pem, ca.key.
  Authority();

  // Signed by `issuer` of this folder. `names` as openssl writes them: "DNS:vitrine.test,URI:spiffe://a/b"; `days` from
  // now, negative: expired; `usage`: serverAuth or clientAuth.
  void Issue(const std::string& name, const std::string& names, const std::string& usage, int days = 2,
             const std::string& issuer = "ca") const;
  // An authority below `ca`.
  void IssueAuthority(const std::string& name, int days = 2) const;

  std::string Path(const std::string& name) const { return folder_.Path(name); }
  std::string Read(const std::string& name) const { return folder_.Read(name); }
  // Replaces the file as a whole, with the mode that it had: a server that watches it never reads half of it.
  void Write(const std::string& name, const std::string& bytes) const;

 private:
  void Run(const std::string& arguments) const;
  void Sign(const std::string& name, const std::string& extensions, int days, const std::string& issuer) const;

  const ScratchFolder folder_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_IDENTITY_AUTHORITY_H_
