// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_IDENTITY_AUTHORITY_H_
#define VITRINE_TESTS_SERVER_IDENTITY_AUTHORITY_H_

#include <string>

#include "tests/scratch_folder.h"

namespace vitrine::testing {

// A certificate authority made with the openssl program: NAME.pem and NAME.key (mode 0600) in one folder.
class Authority {
 public:
  // Makes a new authority: ca.pem, ca.key.
  Authority();

  // Issues a certificate signed by `issuer` of this folder. `names` has openssl's format:
  // "DNS:vitrine.test,URI:spiffe://a/b". `days` is the validity from now; negative: expired. `usage`: serverAuth or
  // clientAuth.
  void Issue(const std::string& name, const std::string& names, const std::string& usage, int days = 2,
             const std::string& issuer = "ca") const;
  // Issues an intermediate authority below `ca`.
  void IssueAuthority(const std::string& name, int days = 2) const;

  std::string Path(const std::string& name) const { return folder_.Path(name); }
  std::string Read(const std::string& name) const { return folder_.Read(name); }
  // Replaces the file atomically and keeps its mode, so that a server that watches the file never reads half of it.
  void Write(const std::string& name, const std::string& bytes) const;

 private:
  void Run(const std::string& arguments) const;
  void Sign(const std::string& name, const std::string& extensions, int days, const std::string& issuer) const;

  const ScratchFolder folder_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_IDENTITY_AUTHORITY_H_
