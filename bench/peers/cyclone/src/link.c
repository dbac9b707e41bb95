/* One topic in and one out of a DDS domain, for the Rust side: everything that needs Cyclone DDS's headers. */
#include <dds/dds.h>
#include <dds/ddsc/dds_loan_api.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_shm_transport.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sizes.h"

/* As many messages as the other systems keep. */
#define DEPTH 4

struct type {
  uint32_t bytes;
  const dds_topic_descriptor_t *descriptor;
};

static const struct type types[] = {
#include "table.inc"
};

struct link {
  dds_entity_t participant, writer, reader, wait_set;
  uint32_t bytes;
  bool shared;
  /* Where the writer has no memory to loan. */
  void *own;
  /* What was taken without a copy, until it is returned. */
  struct ddsi_serdata *taken;
};

static const dds_topic_descriptor_t *find(uint32_t bytes) {
  for (size_t at = 0; at < sizeof types / sizeof *types; at++)
    if (types[at].bytes == bytes) return types[at].descriptor;
  return NULL;
}

/* A negative number is Cyclone DDS's own code. */
int32_t link_open(struct link **made, const char *out, const char *into, uint32_t bytes) {
  struct link *link = calloc(1, sizeof *link);
  const dds_topic_descriptor_t *descriptor = find(bytes);
  dds_return_t error = DDS_RETCODE_BAD_PARAMETER;
  if (!link || !descriptor) goto failed;
  link->bytes = bytes;
  error = link->participant = dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL);
  if (error < 0) goto failed;
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(10));
  dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, DEPTH);
  if (out) {
    dds_entity_t topic = dds_create_topic(link->participant, descriptor, out, qos, NULL);
    error = topic < 0 ? topic : (link->writer = dds_create_writer(link->participant, topic, qos, NULL));
    if (error < 0) goto failed;
    link->own = calloc(1, bytes);
  }
  if (into) {
    dds_entity_t topic = dds_create_topic(link->participant, descriptor, into, qos, NULL);
    error = topic < 0 ? topic : (link->reader = dds_create_reader(link->participant, topic, qos, NULL));
    if (error < 0) goto failed;
    error = dds_set_status_mask(link->reader, DDS_DATA_AVAILABLE_STATUS);
    if (error < 0) goto failed;
    error = link->wait_set = dds_create_waitset(link->participant);
    if (error < 0) goto failed;
    error = dds_waitset_attach(link->wait_set, link->reader, 0);
    if (error < 0) goto failed;
  }
  dds_delete_qos(qos);
  link->shared = dds_is_loan_available(link->writer ? link->writer : link->reader);
  *made = link;
  return 0;
failed:
  free(link);
  return error;
}

/* How many listen to this side, and how many it takes from. */
int32_t link_matched(struct link *link, uint32_t *listeners, uint32_t *publishers) {
  dds_publication_matched_status_t published = {0};
  dds_subscription_matched_status_t subscribed = {0};
  dds_return_t error = 0;
  if (link->writer) error = dds_get_publication_matched_status(link->writer, &published);
  if (!error && link->reader) error = dds_get_subscription_matched_status(link->reader, &subscribed);
  *listeners = published.current_count;
  *publishers = subscribed.current_count;
  return error;
}

/* Whether messages can be loaned, which they can in shared memory. */
int32_t link_loans(struct link *link) { return link->shared; }

/* Memory for the next message. */
int32_t link_loan(struct link *link, void **memory) {
  if (link->shared) return dds_loan_sample(link->writer, memory);
  *memory = link->own;
  return 0;
}

int32_t link_write(struct link *link, const void *memory) { return dds_write(link->writer, memory); }

/* In shared memory dds_take copies. Whoever wants none takes the message as it came, as ROS's layer on Cyclone DDS
   does for loaned messages. */
static int32_t take_shared(struct link *link, void **memory) {
  dds_sample_info_t info;
  dds_return_t count = dds_takecdr(link->reader, &link->taken, 1, &info, DDS_ANY_STATE);
  if (count != 1) return count;
  void *chunk = link->taken->iox_chunk;
  if (info.valid_data && chunk && shm_get_data_state(chunk) == IOX_CHUNK_CONTAINS_RAW_DATA) {
    *memory = chunk;
    return 1;
  }
  ddsi_serdata_unref(link->taken);
  link->taken = NULL;
  return info.valid_data ? DDS_RETCODE_ILLEGAL_OPERATION : 0;
}

/* One message: 1, or none: 0. It is the reader's until it is returned. */
int32_t link_take(struct link *link, void **memory) {
  dds_sample_info_t info;
  *memory = NULL;
  if (link->shared) return take_shared(link, memory);
  dds_return_t count = dds_take(link->reader, memory, &info, 1, 1);
  if (count == 1 && !info.valid_data) {
    dds_return_loan(link->reader, memory, 1);
    return 0;
  }
  return count;
}

int32_t link_return(struct link *link, void **memory) {
  if (!link->taken) return dds_return_loan(link->reader, memory, 1);
  ddsi_serdata_unref(link->taken);
  link->taken = NULL;
  return 0;
}

/* Sleeps until there may be a message; 0: none came in time. */
int32_t link_wait(struct link *link, int64_t nanoseconds) {
  dds_attach_t triggered;
  return dds_waitset_wait(link->wait_set, &triggered, 1, nanoseconds);
}

const char *link_error(int32_t error) { return dds_strretcode(-error); }
