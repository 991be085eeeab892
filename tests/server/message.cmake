# SPDX-License-Identifier: Apache-2.0
# Tests of parsing messages from received bytes.
vitrine_test(server_message_test
  SOURCES wire/message/read_message_test.cc wire/message/walker_test.cc
  ROOMS server SANITIZE asan)
