# find_package(tfnorm 0.3) has two targets: tfnorm::tfnorm, header and compiled library, and
# tfnorm::header for programs that define TFNORM_IMPLEMENTATION themselves. Paths are relative to
# this file, so that the installed folder may be moved.
get_filename_component(tfnorm_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
include(CMakeFindDependencyMacro)
find_dependency(Threads)
if(NOT TARGET tfnorm::header)
    add_library(tfnorm::header INTERFACE IMPORTED)
    set_target_properties(tfnorm::header PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${tfnorm_prefix}/include"
        INTERFACE_LINK_LIBRARIES "$<$<NOT:$<PLATFORM_ID:Windows>>:m>")
    add_library(tfnorm::tfnorm STATIC IMPORTED)
    set_target_properties(tfnorm::tfnorm PROPERTIES
        IMPORTED_LOCATION "${tfnorm_prefix}/lib/libtfnorm.a"
        INTERFACE_LINK_LIBRARIES "tfnorm::header;Threads::Threads")
endif()
