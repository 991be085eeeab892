# SPDX-License-Identifier: Apache-2.0
# Messages as they are read from the bytes of the wire.
vitrine_test(server_message_test
  SOURCES wire/message/read_message_test.cc wire/message/walker_test.cc
  ROOMS server SANITIZE asan)
