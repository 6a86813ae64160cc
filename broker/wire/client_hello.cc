#include "wire/client_hello.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "wire/chars.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

// record    := 0x16 0x03 minor u8 | length u16 | fragment          handshake := 0x01 | length u24 | hello
// hello     := version u16 | random[32] | session<u8> | ciphers<u16> | compressions<u8> | extensions<u16>
// extension := type u16 | data<u16>
constexpr std::size_t kMaxHello = 16 * 1024;
constexpr std::size_t kMaxRecord = 16 * 1024;
constexpr std::uint16_t kServerName = 0;
constexpr std::uint16_t kAlpn = 16;
constexpr std::uint16_t kEncryptedHello = 0xFE0D;

// Reads big-endian numbers and vectors; after a read past the end everything is empty and ok() is false.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  std::string_view Take(std::size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::size_t Number(std::size_t width) {
    std::size_t number = 0;
    for (const char c : Take(width)) number = number << 8 | static_cast<unsigned char>(c);
    return number;
  }
  std::string_view Vector(std::size_t width) { return Take(Number(width)); }
  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// Joins the records' fragments into one handshake message; `consumed` counts whole records.
ParseResult Assemble(std::string_view bytes, std::string* hello) {
  const ParseResult malformed = ParseResult::Fail(ErrorCode::kMalformedTls);
  std::size_t at = 0;
  while (true) {
    const std::string_view rest = bytes.substr(at);
    const bool starts_right = (rest.size() < 1 || rest[0] == 0x16) && (rest.size() < 2 || rest[1] == 0x03);
    if (!starts_right) return malformed;
    if (rest.size() < 5) return ParseResult::NeedMore();
    const std::size_t length = Cursor(rest.substr(3, 2)).Number(2);
    if (length == 0 || length > kMaxRecord) return malformed;
    const std::string_view fragment = rest.substr(5, length);
    if (hello->empty() && !fragment.empty() && fragment.front() != 0x01) return malformed;
    if (fragment.size() < length) return ParseResult::NeedMore();
    hello->append(fragment);
    at += 5 + length;
    if (hello->size() < 4) continue;
    const std::size_t size = Cursor(std::string_view(*hello).substr(1, 3)).Number(3);
    if (size > kMaxHello || hello->size() > size + 4) return malformed;  // nothing may follow before the answer
    if (hello->size() == size + 4) return ParseResult::Complete(at);
  }
}

// A DNS name as a client must send it: no address, so that it compares with an authority as it is.
bool IsServerName(std::string_view name) {
  if (name.empty() || name.size() > 253 || name.front() == '.' || name.back() == '.') return false;
  if (name.find("..") != std::string_view::npos) return false;
  const std::string_view last = name.substr(name.rfind('.') + 1);
  const bool address = chars::All(last, chars::kDigit);
  return !address && std::all_of(name.begin(), name.end(), [](char c) {
    return chars::Is(c, chars::kHostChar) && c != ':' && c != '[' && c != ']';
  });
}

ErrorCode TakeServerName(std::string_view data, ClientHello* out) {
  Cursor cursor(data);
  Cursor list(cursor.Vector(2));
  const std::size_t type = list.Number(1);
  const std::string_view name = list.Vector(2);
  if (!cursor.ok() || !cursor.empty() || !list.ok() || !list.empty() || type != 0) return ErrorCode::kMalformedTls;
  // One final dot is the absolute form of the same name, as in an authority (B65, B71).
  const std::string_view plain = name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
  if (!IsServerName(plain)) return ErrorCode::kBadHost;
  out->sni.emplace(plain);
  std::transform(out->sni->begin(), out->sni->end(), out->sni->begin(), chars::Lower);
  return ErrorCode::kNone;
}

ErrorCode TakeAlpn(std::string_view data, ClientHello* out) {
  Cursor cursor(data);
  Cursor list(cursor.Vector(2));
  if (!cursor.ok() || !cursor.empty() || list.empty()) return ErrorCode::kMalformedTls;
  while (!list.empty()) {
    const std::string_view protocol = list.Vector(1);
    if (protocol.empty()) return ErrorCode::kMalformedTls;
    out->alpn.emplace_back(protocol);
  }
  return ErrorCode::kNone;
}

ErrorCode ReadExtensions(std::string_view extensions, ClientHello* out) {
  Cursor cursor(extensions);
  std::set<std::size_t> seen;
  while (!cursor.empty()) {
    const std::size_t type = cursor.Number(2);
    const std::string_view data = cursor.Vector(2);
    if (!cursor.ok() || !seen.insert(type).second) return ErrorCode::kMalformedTls;
    ErrorCode error = ErrorCode::kNone;
    if (type == kServerName) error = TakeServerName(data, out);
    if (type == kAlpn) error = TakeAlpn(data, out);
    if (type == kEncryptedHello) out->has_ech = true;
    if (error != ErrorCode::kNone) return error;
  }
  return ErrorCode::kNone;
}

}  // namespace

ParseResult ParseClientHello(std::string_view bytes, ClientHello* out) {
  *out = {};
  std::string hello;
  const ParseResult result = Assemble(bytes, &hello);
  if (!result.complete()) return result;

  Cursor cursor(std::string_view(hello).substr(4));
  const std::size_t version = cursor.Number(2);
  cursor.Take(32);
  const bool session_fits = cursor.Vector(1).size() <= 32;
  const std::size_t ciphers = cursor.Vector(2).size();
  const bool compressions = !cursor.Vector(1).empty();
  // An old client may send no extensions at all.
  const std::string_view extensions = cursor.ok() && !cursor.empty() ? cursor.Vector(2) : std::string_view();
  if (!cursor.ok() || !cursor.empty() || version >> 8 != 3 || !session_fits || ciphers < 2 || ciphers % 2 != 0 ||
      !compressions) {
    return ParseResult::Fail(ErrorCode::kMalformedTls);
  }
  const ErrorCode error = ReadExtensions(extensions, out);
  return error == ErrorCode::kNone ? result : ParseResult::Fail(error);
}

}  // namespace credbroker::wire
