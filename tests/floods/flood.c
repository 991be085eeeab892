// SPDX-License-Identifier: Apache-2.0
#include "flood.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>

#include "loop.h"

Options options = {.connections = 3,
                   .seconds = 10,
                   .in_flight = 256,
                   .rate = 5000,
                   .deadline = 0,
                   .path = "/vitrine.v1.Classifier/Classify",
                   .refill = true};
Counts counts;
Addresses addresses;

static const Flood* const kTables[] = {kFrameFloods, kCallFloods, kRawFloods};

static _Noreturn void Fail(const char* what, const char* value) {
  fprintf(stderr, "flood: %s: %s\n", what, value);
  exit(2);
}

static void PrintUsage(void) {
  puts(
      "Usage: flood ADDRESS FLOOD [OPTIONS]\n"
      "Floods an HTTP/2 server of this machine, from one core; prints what was sent as JSON.\n"
      "ADDRESS is 127.x.y.z:PORT, [::1]:PORT or unix:///PATH: no other machine can be named.\n\n"
      "  --connections N=3   connections, each of which comes back when it is cut off\n"
      "  --seconds S=10\n"
      "  --source ADDRESS    127.x.y.z that the connections come from\n"
      "  --message FILE      message of the calls; empty: one without a field\n"
      "  --path PATH         method of the calls; default: Classify\n"
      "  --in-flight N=256   calls at once on a connection\n"
      "  --rate R=5000       calls a second over all connections, of proxy\n"
      "  --deadline S        time after which proxy resets a call\n"
      "  --once              calls that ended are not followed by others\n"
      "  --progress          a line of JSON each 250 ms\n\nFloods:");
  for (size_t i = 0; i < 3; ++i)
    for (const Flood* flood = kTables[i]; flood->name; ++flood) printf("  %-18s%s\n", flood->name, flood->what);
}

static void ReadMessage(const char* name) {
  FILE* file = fopen(name, "rb");
  if (!file) Fail("cannot be read", name);
  uint8_t* bytes = malloc(16384);
  const size_t size = fread(bytes + 5, 1, 16384 - 5, file);
  if (fgetc(file) != EOF) Fail("is larger than a frame", name);
  fclose(file);
  const uint8_t prefix[] = {0, 0, 0, (uint8_t)(size >> 8), (uint8_t)size};
  memcpy(bytes, prefix, sizeof prefix);
  options.message = bytes;
  options.message_size = size + sizeof prefix;
}

// Parses an address of this machine. Rejects all other addresses, so that no other machine can be flooded.
static void ReadAddress(const char* text, struct sockaddr_storage* out, socklen_t* size, bool has_port) {
  struct sockaddr_in* four = (struct sockaddr_in*)out;
  struct sockaddr_in6* six = (struct sockaddr_in6*)out;
  struct sockaddr_un* path = (struct sockaddr_un*)out;
  char host[64];
  const char* colon = strrchr(text, ':');
  if (strncmp(text, "unix://", 7) == 0 && strlen(text + 7) < sizeof path->sun_path) {
    path->sun_family = AF_UNIX;
    strcpy(path->sun_path, text + 7);
    *size = sizeof *path;
    return;
  }
  if (has_port && !colon) Fail("has no port", text);
  snprintf(host, sizeof host, "%.*s", has_port ? (int)(colon - text) : (int)strlen(text), text);
  const uint16_t port = htons(has_port ? (uint16_t)atoi(colon + 1) : 0);
  if (inet_pton(AF_INET, host, &four->sin_addr) == 1 && ntohl(four->sin_addr.s_addr) >> 24 == 127) {
    four->sin_family = AF_INET;
    four->sin_port = port;
    *size = sizeof *four;
  } else if (strcmp(host, "[::1]") == 0) {
    six->sin6_family = AF_INET6;
    six->sin6_addr = in6addr_loopback;
    six->sin6_port = port;
    *size = sizeof *six;
  } else {
    Fail("is not an address of this machine", text);
  }
}

static bool ReadOptions(int argc, char** argv) {
  static const struct option kOptions[] = {
      {"connections", 1, 0, 'c'}, {"seconds", 1, 0, 's'},   {"source", 1, 0, 'f'}, {"message", 1, 0, 'm'},
      {"path", 1, 0, 'p'},        {"in-flight", 1, 0, 'i'}, {"rate", 1, 0, 'r'},   {"deadline", 1, 0, 'd'},
      {"once", 0, 0, 'o'},        {"progress", 0, 0, 'g'},  {"help", 0, 0, 'h'},   {0, 0, 0, 0}};
  bool shows_progress = false;
  for (int letter; (letter = getopt_long(argc, argv, "h", kOptions, NULL)) != -1;) {
    if (letter == 'c') options.connections = atoi(optarg);
    if (letter == 's') options.seconds = atof(optarg);
    if (letter == 'f') ReadAddress(optarg, &addresses.from, &addresses.from_size, false);
    if (letter == 'm') ReadMessage(optarg);
    if (letter == 'p') options.path = optarg;
    if (letter == 'i') options.in_flight = atoi(optarg);
    if (letter == 'r') options.rate = atof(optarg);
    if (letter == 'd') options.deadline = atof(optarg);
    if (letter == 'o') options.refill = false;
    if (letter == 'g') shows_progress = true;
    if (letter == 'h') PrintUsage(), exit(0);
    if (letter == '?') exit(2);
  }
  if (options.connections < 1 || options.in_flight < 1 || options.in_flight > kMostStreams ||
      strlen(options.path) > 120)
    Fail("wrong", "--connections, --in-flight or --path");
  return shows_progress;
}

int main(int argc, char** argv) {
  const bool shows_progress = ReadOptions(argc, argv);
  if (argc - optind != 2) PrintUsage(), exit(2);
  ReadAddress(argv[optind], &addresses.to, &addresses.to_size, true);
  const Flood* chosen = NULL;
  for (size_t i = 0; i < 3; ++i)
    for (const Flood* flood = kTables[i]; flood->name; ++flood)
      if (strcmp(flood->name, argv[optind + 1]) == 0) chosen = flood;
  if (!chosen) Fail("no such flood", argv[optind + 1]);

  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  signal(SIGPIPE, SIG_IGN);
  RunFlood(chosen, shows_progress);
  printf(
      "{\"flood\": \"%s\", \"bytes\": %ld, \"frames\": %ld, \"connections\": %ld, \"cut_off\": %ld, \"refused\": %ld, "
      "\"goaways\": %ld, \"resets\": %ld, \"begun\": %ld, \"answered\": %ld, \"ended\": %ld, \"given_up\": %ld}\n",
      chosen->name, (long)counts.bytes, (long)counts.frames, (long)counts.connections, (long)counts.cut_off,
      (long)counts.refused, (long)counts.goaways, (long)counts.resets, (long)counts.begun, (long)counts.answered,
      (long)counts.ended, (long)counts.given_up);
}
