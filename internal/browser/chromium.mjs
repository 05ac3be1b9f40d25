// How Chromium is started: the one that all scripts share, and the one of a script that measures.
export const settings = (executablePath) => ({
  executablePath,
  chromiumSandbox: false,
  args: ["--host-resolver-rules=MAP *.localhost 127.0.0.1, MAP *.example.com 127.0.0.1", "--disable-gpu"],
});
