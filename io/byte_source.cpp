#include <freeflow/io/byte_source.h>

#include <algorithm>
#include <cstring>

#include <freeflow/io/file_checks.h>

namespace freeflow {

namespace {

constexpr std::size_t input_bytes = 1 << 18;

bool begins_member(const unsigned char* bytes, std::size_t count) {
  return count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

}  // namespace

ByteSource::ByteSource(std::string named, const std::string& path)
    : named_(std::move(named)), file_(path, std::ios::binary) {
  if (!file_) fail_reading(named_, "it cannot be opened");
  unsigned char first[2];
  file_.read(reinterpret_cast<char*>(first), sizeof first);
  compressed_ = begins_member(first, std::size_t(file_.gcount()));
  file_.clear();
  file_.seekg(0);
  if (!compressed_) return;
  input_.resize(input_bytes);
  isal_inflate_init(&state_);
  state_.crc_flag = ISAL_GZIP;
}

bool ByteSource::fill() {
  if (state_.avail_in > 0) return true;
  file_.read(reinterpret_cast<char*>(input_.data()), std::streamsize(input_.size()));
  state_.next_in = input_.data();
  state_.avail_in = std::uint32_t(file_.gcount());
  return state_.avail_in > 0;
}

/// What follows a member is another one, or padding that nobody reads.
bool ByteSource::next_member() {
  if (state_.avail_in < 2) {
    const std::size_t left = state_.avail_in;
    std::memmove(input_.data(), state_.next_in, left);
    file_.read(reinterpret_cast<char*>(input_.data() + left),
               std::streamsize(input_.size() - left));
    state_.next_in = input_.data();
    state_.avail_in = std::uint32_t(left + std::size_t(file_.gcount()));
  }
  if (!begins_member(state_.next_in, state_.avail_in)) return false;
  unsigned char* const next = state_.next_in;
  const std::uint32_t available = state_.avail_in;
  isal_inflate_reset(&state_);
  state_.crc_flag = ISAL_GZIP;
  state_.next_in = next;
  state_.avail_in = available;
  return true;
}

std::size_t ByteSource::inflate(unsigned char* target, std::size_t bytes) {
  constexpr std::size_t most_at_once = 1 << 30;  // ISA-L counts in 32 bits
  std::size_t done = 0;
  while (done < bytes) {
    if (state_.block_state == ISAL_BLOCK_FINISH && !next_member()) break;
    const bool more = fill();
    state_.next_out = target + done;
    state_.avail_out = std::uint32_t(std::min(bytes - done, most_at_once));
    const std::uint32_t room = state_.avail_out;
    const int status = isal_inflate(&state_);
    if (status < 0) fail_reading(named_, "its compressed data are damaged");
    done += room - state_.avail_out;
    if (!more && room == state_.avail_out && state_.block_state != ISAL_BLOCK_FINISH) break;
  }
  return done;
}

std::size_t ByteSource::read(void* target, std::size_t bytes) {
  if (compressed_) return inflate(static_cast<unsigned char*>(target), bytes);
  file_.read(static_cast<char*>(target), std::streamsize(bytes));
  return std::size_t(file_.gcount());
}

void ByteSource::skip(std::uint64_t bytes) {
  if (!compressed_) {
    file_.seekg(std::streamoff(bytes), std::ios::cur);
    return;
  }
  char sink[4096];
  while (bytes > 0) {
    const std::size_t received = read(sink, std::min<std::uint64_t>(bytes, sizeof sink));
    if (received == 0) return;
    bytes -= received;
  }
}

bool ByteSource::read_to_end() {
  if (!compressed_) return true;
  char rest[4096];
  while (read(rest, sizeof rest) == sizeof rest) {
  }
  return state_.block_state == ISAL_BLOCK_FINISH;
}

}  // namespace freeflow
