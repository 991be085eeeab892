# The Open Inference Protocol's messages and bodies, without a server.
vitrine_test(server_oip_test
  SOURCES oip/http_body_test.cc oip/http_server_test.cc oip/infer_plan_test.cc
  ROOMS server LIBRARIES nlohmann_json::nlohmann_json SANITIZE asan)
