# SPDX-License-Identifier: Apache-2.0
# Tests of the files, tokens and access rules for identity, without a server.
vitrine_test(server_identity_test
  SOURCES identity/access_rules_test.cc identity/audit_log_test.cc identity/authority.cc identity/guarded_file_test.cc
          identity/identity_test.cc
          identity/tls_files_test.cc identity/token_table_test.cc
  ROOMS server LIBRARIES nlohmann_json::nlohmann_json OpenSSL::Crypto SANITIZE asan)
