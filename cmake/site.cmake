# The documentation as a site, to be opened from its folder:
#   cmake --build build/release --target site            # build/release/site/index.html
# The errors on the catalogue's pages are those of build/release/validation.json, which the tests leave; without it
# the pages say so. A site that was made goes into the package; none is made for it, as Sphinx is not needed otherwise.
set(site ${CMAKE_BINARY_DIR}/site)
find_program(SPHINX_BUILD sphinx-build)
if(SPHINX_BUILD)
  set(with_sphinx --sphinx ${SPHINX_BUILD})
else()
  message(STATUS "No sphinx-build: no site of the documentation, unless there is one when it is asked for")
endif()
add_custom_target(site
  COMMAND python3 ${CMAKE_SOURCE_DIR}/docs/site/build.py $<TARGET_FILE:forescale> ${site} ${with_sphinx}
          --validation-if-made ${CMAKE_BINARY_DIR}/validation.json
  DEPENDS forescale USES_TERMINAL COMMENT "Making the documentation's site")
install(DIRECTORY ${site}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html COMPONENT program OPTIONAL)
