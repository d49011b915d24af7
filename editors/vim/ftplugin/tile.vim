" Indentation and comments as in Python.
if exists('b:did_ftplugin')
  finish
endif
runtime! ftplugin/python.vim ftplugin/python_*.vim indent/python.vim
setlocal commentstring=#\ %s expandtab shiftwidth=4 softtabstop=4
