vitrine_fuzzer(eval_fuzz SOURCES eval_fuzz.cc ROOMS client)
vitrine_fuzzer(load_fuzz SOURCES load_fuzz.cc ROOMS client)
