vitrine_fuzzer(eval_fuzz SOURCES eval_fuzz.cc ROOMS client)
