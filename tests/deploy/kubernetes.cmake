# Renders deploy/kubernetes and checks it; says what it skips where there is no kubectl >= 1.27 or no package index.
add_test(NAME kubernetes_test COMMAND ${CMAKE_SOURCE_DIR}/script/kubernetes-check ${CMAKE_BINARY_DIR})
set_tests_properties(kubernetes_test PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
