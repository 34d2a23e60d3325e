// SHA-256 of bytes that come piece by piece.
#ifndef MEMPLAN_SERVER_STORE_SHA256_H_
#define MEMPLAN_SERVER_STORE_SHA256_H_

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace memplan {

// Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();

  void Update(std::string_view bytes);
  // 64 lower-case hexadecimal digits. Call it once, last.
  std::string Finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// True for 64 lower-case hexadecimal digits.
bool IsSha256(std::string_view text);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_SHA256_H_
