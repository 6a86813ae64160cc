#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/str.h"

namespace credbroker::wire {

// A repository of the installed git in a folder of its own, as an oracle for what we read ourselves.
class GitRepository {
 public:
  // `object_format` is sha1 or sha256.
  explicit GitRepository(const std::string& object_format) : id_digits_(object_format == "sha1" ? 40 : 64) {
    std::string pattern = (std::filesystem::temp_directory_path() / "wire-git-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    ok_ = Succeeds("init -q --bare --object-format=" + object_format + " .");
  }
  ~GitRepository() { std::filesystem::remove_all(folder_); }
  GitRepository(const GitRepository&) = delete;
  GitRepository& operator=(const GitRepository&) = delete;

  // False when no git of at least 2.29 is installed.
  bool ok() const { return ok_; }

  // What `git <arguments>` prints, with `input` on its standard input. Arguments are read by a shell.
  std::string Git(const std::string& arguments, const std::string& input = {}) {
    const std::string file = folder_ + "/input";
    FILE* to = std::fopen(file.c_str(), "wb");
    std::fwrite(input.data(), 1, input.size(), to);
    std::fclose(to);
    FILE* from = popen(Command(arguments + " < input").c_str(), "r");
    std::string out;
    std::array<char, 4096> piece;
    while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), from)) out.append(piece.data(), size);
    status_ = pclose(from);
    return out;
  }
  bool Succeeds(const std::string& arguments) {
    Git(arguments);
    return status_ == 0;
  }
  std::string Id(const std::string& name) { return Git("rev-parse " + name).substr(0, id_digits_); }
  std::size_t id_digits() const { return id_digits_; }

 private:
  // No configuration but the repository's own.
  std::string Command(const std::string& arguments) const {
    return base::StrCat("cd ", folder_, " && env -i PATH=\"$PATH\" HOME=", folder_,
                        " GIT_CONFIG_NOSYSTEM=1 GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@host.test git ", arguments,
                        " 2>errors");
  }

  const std::size_t id_digits_;
  std::string folder_;
  bool ok_ = false;
  int status_ = 0;
};

}  // namespace credbroker::wire
