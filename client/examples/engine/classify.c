/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies images in one batch, without a server: classify MODEL IMAGE...
 *
 *   cc classify.c -I INCLUDE LIBRARY/libvitrine_engine.so -Wl,-rpath,LIBRARY -o classify
 *   ./classify models/bundled/eit-mini-cifar10 samples/cifar/bird-lark.png
 *
 * `python3 -m vitrine_engine` prints INCLUDE and LIBRARY of the installed wheel. */
#include <stdio.h>
#include <stdlib.h>

#include "vitrine_engine.h"

/* Reads a file. Returns its bytes, or NULL. */
static void* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  void* bytes = NULL;
  long end;
  if (file == NULL) return NULL;
  if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0) {
    bytes = malloc((size_t)end);
    *size = (size_t)end;
    if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
      free(bytes);
      bytes = NULL;
    }
  }
  fclose(file);
  return bytes;
}

static int print_answers(VitrineEngineAnswers* answers, char** names) {
  int failed = 0;
  size_t i;
  for (i = 0; i < vitrine_engine_answer_count(answers); ++i) {
    VitrineEnginePrediction best;
    if (vitrine_engine_answer_prediction(answers, i, 0, &best) == VITRINE_ENGINE_OK) {
      printf("%s: %s %.3f\n", names[i], best.label, best.probability);
    } else {
      fprintf(stderr, "%s: %s\n", names[i], vitrine_engine_last_error());
      failed = 1;
    }
  }
  return failed;
}

int main(int argc, char** argv) {
  VitrineEngineModel* model = NULL;
  VitrineEngineAnswers* answers = NULL;
  VitrineEngineImage* images;
  const char request[] = "{\"top_k\": 1}";
  int i, failed = 1;
  if (argc < 3) return fprintf(stderr, "usage: classify MODEL IMAGE...\n"), 2;
  images = calloc((size_t)argc, sizeof(*images)); /* zeros: VITRINE_ENGINE_FILE */
  if (images == NULL) return 1;
  for (i = 2; i < argc; ++i) {
    images[i - 2].data = read_file(argv[i], &images[i - 2].size);
    if (images[i - 2].data == NULL) fprintf(stderr, "%s cannot be read\n", argv[i]);
  }
  if (vitrine_engine_load(NULL, argv[1], NULL, &model) == VITRINE_ENGINE_OK &&
      vitrine_engine_run(model, images, (size_t)argc - 2, request, sizeof(request) - 1, &answers) ==
          VITRINE_ENGINE_OK) {
    failed = print_answers(answers, argv + 2);
  } else {
    fprintf(stderr, "%s\n", vitrine_engine_last_error());
  }
  vitrine_engine_answers_free(answers);
  vitrine_engine_free(model);
  for (i = 2; i < argc; ++i) free((void*)images[i - 2].data);
  free(images);
  return failed;
}
