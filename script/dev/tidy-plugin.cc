// SPDX-License-Identifier: Apache-2.0
// A plugin of clang-tidy that keeps its checks to the code of the tree. clang-tidy 14 walks through every declaration
// of every header, the system's too, only to leave out what it finds there: four fifths of its time. clangd narrows the
// walk in the same way, and later releases of clang-tidy do.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <clang/Basic/SourceManager.h>

#include <vector>

namespace {

using clang::ast_matchers::MatchFinder;

class OwnCode : public clang::tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;

  // The walk visits the whole first, and then what its scope names.
  void registerMatchers(MatchFinder* finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("whole"), this);
  }

  void check(const MatchFinder::MatchResult& found) override {
    std::vector<clang::Decl*> own;
    for (clang::Decl* part : found.Context->getTranslationUnitDecl()->decls()) {
      const clang::SourceLocation place = found.SourceManager->getExpansionLoc(part->getLocation());
      if (place.isValid() && !found.SourceManager->isInSystemHeader(place)) own.push_back(part);
    }
    found.Context->setTraversalScope(own);
  }
};

class Module : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<OwnCode>("vitrine-own-code");
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<Module> kModule("vitrine", "what script/tidy adds");

}  // namespace
