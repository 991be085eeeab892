target_compile_options(vitrine_server PRIVATE -fsanitize=fuzzer-no-link)
vitrine_fuzzer(oip_fuzz SOURCES oip_fuzz.cc ROOMS server)
