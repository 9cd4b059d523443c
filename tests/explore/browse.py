"""A visit to `kgagg explore` in a real browser, told as JSON; run in the sandbox of the test.

    browse.py DATA RULES LABELS HEAD RELATION FOLDER

It searches for HEAD, asks for its RELATION, opens a reason and a rule, reloads, saves, looks at
pages that were written, and takes pictures of them into FOLDER.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chromium.webdriver import ChromiumDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

SIZES = ((1200, 900), (390, 844))
KGAGG = [sys.executable, "-m", "kgagg"]


def main(data: str, rules: str, labels: str, head: str, relation: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    queries = folder / "queries.txt"
    queries.write_text(f"{head}\t{relation}\t?\n")
    call = [*KGAGG, "explore", data, rules, "--labels", labels, "--quiet"]
    static = ["--static", str(folder / "static"), "--queries", str(queries)]
    subprocess.run([*call, *static], check=True, capture_output=True)
    serving = [*call, "--port", "0", "--no-browser"]
    with subprocess.Popen(serving, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[2]
        driver = started(folder)
        try:
            print(json.dumps(visit(driver, address, head, relation, folder)))
        finally:
            driver.quit()
            server.terminate()


def started(folder: Path) -> ChromiumDriver:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (
        *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"),
        *("disable-background-networking", "disable-component-update", "disable-sync"),
        f"user-data-dir={folder / 'profile'}",
    ):
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))


def suggested(driver: ChromiumDriver) -> list[str]:
    """What the search box suggests, at once: the list may change meanwhile."""
    script = "return [...document.querySelectorAll('[role=search] li')].map(one => one.textContent)"
    return list(driver.execute_script(script))


def visit(
    driver: ChromiumDriver, address: str, head: str, relation: str, folder: Path
) -> dict[str, Any]:
    """What a person would do, and what it leads to."""
    found: dict[str, Any] = {"overflows": []}

    def wait(what: str) -> Any:
        return WebDriverWait(driver, 60).until(
            lambda _: driver.find_elements(By.CSS_SELECTOR, what)
        )

    def shown(name: str) -> None:
        """Look at the page in both sizes, light and dark."""
        for (width, height), colour in zip(SIZES, ("light", "dark"), strict=True):
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            media = [{"name": "prefers-color-scheme", "value": colour}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
            wide = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
            if wide > 0:
                found["overflows"].append([name, width, wide])
            driver.save_screenshot(str(folder / f"{name}-{width}.png"))
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    driver.get(address)
    shown("home")
    box = driver.find_element(By.CSS_SELECTOR, "[role=search] input")
    box.send_keys(head)
    WebDriverWait(driver, 60).until(lambda _: any(head in text for text in suggested(driver)))
    found["suggested"] = suggested(driver)
    # the keyboard suffices
    for _ in range(1 + next(i for i, text in enumerate(found["suggested"]) if head in text)):
        box.send_keys(Keys.ARROW_DOWN)
    box.send_keys(Keys.ENTER)
    WebDriverWait(driver, 60).until(lambda _: "/entity?" in driver.current_url)
    found["entity"] = driver.find_element(By.TAG_NAME, "h1").text
    shown("entity")

    driver.get(f"{address}ask")
    for name, text in (("head", head), ("relation", relation)):
        driver.find_element(By.NAME, name).send_keys(text)
    driver.find_element(By.NAME, "head").send_keys(Keys.ESCAPE)
    driver.find_element(By.NAME, "tail").send_keys(Keys.ENTER)
    wait("tbody tr")
    found["candidates"] = len(driver.find_elements(By.CSS_SELECTOR, "tbody tr"))
    found["saved"] = driver.find_element(By.CSS_SELECTOR, "footer .button").get_attribute("href")
    shown("ask")
    driver.find_element(By.LINK_TEXT, "why").click()
    wait("article svg")
    found["reasons"] = len(driver.find_elements(By.TAG_NAME, "article"))
    shown("why")
    here = driver.current_url
    driver.refresh()
    wait("article svg")
    found["again"] = driver.current_url == here
    driver.find_element(By.CSS_SELECTOR, "article code a").click()
    WebDriverWait(driver, 60).until(lambda _: "/rule?" in driver.current_url)
    found["rule"] = driver.find_element(By.CSS_SELECTOR, "p.rule code").text
    shown("rule")
    driver.back()
    found["back"] = driver.current_url == here
    driver.get(f"{address}rules?relation={relation}")
    shown("rules")

    driver.get((folder / "static" / "index.html").as_uri())
    for link in ("main ul a", "tbody td:nth-child(2) a", "article code a"):
        wait(link)[0].click()
    found["static"] = driver.find_element(By.CSS_SELECTOR, "p.rule code").text
    # what the browser itself complains about: scripts, styles, missing files
    found["complaints"] = [line["message"] for line in driver.get_log("browser")]  # type: ignore[no-untyped-call]
    return found


if __name__ == "__main__":
    *words, target = sys.argv[1:]
    data, rules, labels, head, relation = words
    main(data, rules, labels, head, relation, Path(target).resolve())
