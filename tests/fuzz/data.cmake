target_compile_options(vitrine_data PRIVATE -fsanitize=fuzzer-no-link)
vitrine_fuzzer(tar_fuzz SOURCES tar_fuzz.cc ROOMS data imaging proto)
vitrine_fuzzer(dataset_fuzz SOURCES dataset_fuzz.cc ROOMS data imaging proto)
