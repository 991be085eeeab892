// SPDX-License-Identifier: Apache-2.0
// A plugin that limits the checks of clang-tidy to the code of this repository. clang-tidy 14 spends four fifths of its
// time on declarations in system headers, and then discards the findings. Like clangd and later releases of clang-tidy,
// the plugin limits the declarations that are traversed.
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

  // The traversal visits the translation unit first, so check() can limit the scope of the rest of the traversal.
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
